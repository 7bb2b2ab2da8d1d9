#include "capture/device_values.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "capture/device_backend.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

using namespace std::chrono_literals;

struct Entry {
  std::uint64_t ticket = 0;
  Digest digest;
  Digest logical;
  bool failed = false;
  bool no_content = false;
};

struct State {
  std::mutex mutex;  ///< of `latest`
  std::array<Entry, std::size_t{1} << 14> latest{};
  std::mutex starting;
  std::atomic<std::uint64_t> tickets{0};  ///< issued
  std::atomic<std::uint64_t> told{0};     ///< of those that a backend took
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> ending{false};
  std::atomic<bool> running{false};
  pthread_t thread{};
};

std::atomic<State*> existing{nullptr};
State* locked = nullptr;          ///< by the thread that forks
std::atomic<bool> forked{false};  ///< from a process that used a device, which its child cannot

/// Made when a value on a device is first seen.
State& state() {
  static State& instance = []() -> State& {
    State& made = immortal<State>();
    existing.store(&made, std::memory_order_release);
    return made;
  }();
  return instance;
}

void keep(const DeviceResult& result) {
  State& self = state();
  const std::lock_guard guard(self.mutex);
  self.latest[result.ticket % self.latest.size()] = {result.ticket, result.digest, result.logical,
                                                     result.failed, !result.content};
}

void tell_writer(Thread& thread, const DeviceResult& result) {
  if (!result.failed) {
    if (result.content) thread.send_content(result.digest, *result.content);
    if (result.statistics) thread.send_statistics(result.digest, result.dtype, *result.statistics);
  }
  thread.send_resolved(result.ticket, result.digest, result.logical, result.failed,
                       !result.content);
}

void drain_once(DeviceBackend& backend) {
  Thread* const thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded("the settings of a device", [&] {
    for (const auto& [key, value] : backend.new_settings()) thread->send_environment(key, value);
  });
  backend.drain(20ms, [&](const DeviceResult& result) {
    guarded("the digests of a device", [&] {
      keep(result);
      tell_writer(*thread, result);
    });
    state().told.fetch_add(1, std::memory_order_release);
  });
}

void* drain_all(void* /*nothing*/) {
  pthread_setname_np(pthread_self(), "ulpscope-device");
  State& self = state();
  DeviceBackend* const backend = device_backend();
  while (backend != nullptr && recording()) {
    drain_once(*backend);
    if (self.ending.load(std::memory_order_acquire) && self.told.load() >= self.taken.load()) break;
  }
  Thread::close_current();
  return nullptr;
}

/// The program's signals are for its own threads.
bool start_thread() {
  State& self = state();
  if (self.running.load(std::memory_order_acquire)) return true;
  const std::lock_guard guard(self.starting);
  if (self.running.load(std::memory_order_relaxed)) return true;
  self.ending = false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(&self.thread, nullptr, &drain_all, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  self.running.store(started, std::memory_order_release);
  return started;
}

}  // namespace

bool is_on_device(const at::Tensor& tensor) {
  return tensor.device().type() == kBackendDevice && tensor.layout() == c10::kStrided &&
         tensor.has_storage() && !tensor.is_conj() && !tensor.is_neg() && !tensor.is_quantized() &&
         has_shape(tensor, tensor.layout()) &&
         (tensor.numel() == 0 || tensor.storage().unsafeGetStorageImpl()->data() != nullptr) &&
         device_backend() != nullptr;
}

std::uint64_t request_digest(const at::Tensor& tensor, const Content& content) {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr || forked.load(std::memory_order_relaxed) || !start_thread()) return 0;
  State& self = state();
  const auto dtype = static_cast<Dtype>(tensor.scalar_type());
  const DeviceValue value{
      .ticket = self.tickets.fetch_add(1, std::memory_order_relaxed) + 1,
      .bytes = content.bytes,
      .dtype = dtype,
      .device = tensor.device().index(),
      .logical = content.dense && !content.contiguous && content.dense_size > 0,
      .statistics = settings().level == ring::Level::stats && element_size(dtype) > 0,
      .content = settings().level == ring::Level::full && in_full_steps()};
  self.taken.fetch_add(1, std::memory_order_release);
  if (backend->enqueue(value)) return value.ticket;
  self.taken.fetch_sub(1, std::memory_order_release);
  return 0;
}

void settle(Region& region) noexcept {
  State* const used = existing.load(std::memory_order_acquire);
  if (used == nullptr) return;  // no device: the ticket is a collective's
  State& self = *used;
  const std::lock_guard guard(self.mutex);
  const Entry& known = self.latest[region.ticket % self.latest.size()];
  if (known.ticket != region.ticket || known.failed) return;
  region.ticket = 0;
  region.digest = known.digest;
  region.logical = known.logical;
  region.no_content = known.no_content;
  region.value = storages().next_value();
}

void finish_device_values(std::chrono::milliseconds patience) noexcept {
  State* const known = existing.load(std::memory_order_acquire);
  if (known == nullptr || !known->running.load(std::memory_order_acquire)) return;
  State& self = *known;
  self.ending.store(true, std::memory_order_release);
  auto moved = std::chrono::steady_clock::now();
  std::uint64_t told = self.told.load();
  while (recording() && told < self.taken.load() &&
         std::chrono::steady_clock::now() - moved < patience) {
    std::this_thread::sleep_for(1ms);
    if (std::exchange(told, self.told.load()) != told) moved = std::chrono::steady_clock::now();
  }
  if (told < self.taken.load()) {
    // The device no longer delivers anything: the thread is abandoned.
    pthread_detach(self.thread);
  } else {
    pthread_join(self.thread, nullptr);
  }
  self.running.store(false, std::memory_order_release);
}

void lock_device_values() {
  locked = existing.load(std::memory_order_acquire);
  if (locked == nullptr) return;
  locked->starting.lock();
  locked->mutex.lock();
}

void unlock_device_values() {
  State* const self = std::exchange(locked, nullptr);
  if (self == nullptr) return;
  self->mutex.unlock();
  self->starting.unlock();
}

void forget_device_values() noexcept {
  State* const self = existing.load(std::memory_order_acquire);
  if (self == nullptr) return;
  forked.store(true);
  self->running.store(false);
  self->ending.store(false);
  self->taken.store(0);
  self->told.store(0);
}

}  // namespace ulpscope::capture
