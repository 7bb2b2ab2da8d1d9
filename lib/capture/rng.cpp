#include "capture/rng.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>

#include <chrono>
#include <mutex>
#include <span>
#include <thread>
#include <tuple>

#include "capture/thread.hpp"
#include "core/generator_state.hpp"

namespace ulpscope::capture {
namespace {

static_assert(at::MERSENNE_STATE_N == std::tuple_size_v<decltype(core::CpuGeneratorState::words)>);

template <class State>
RngFingerprint fingerprint_of(const State& state, bool fresh, Thread* sender) {
  const auto bytes = std::as_bytes(std::span(&state, 1));
  const Digest known = digest(bytes);
  if (sender != nullptr) sender->send_content(known, bytes);
  return {.seed = state.seed, .state = known, .fresh = fresh, .known = true};
}

/// While another thread draws, waits as the op itself would, but not for long: a program may call
/// an op while it holds the lock itself.
std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  constexpr std::chrono::milliseconds kLongest{100};
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  while (!lock.try_lock() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return lock;
}

/// Both query the host's side of the generator. While a graph is captured they are rejected.
RngFingerprint cuda_fingerprint(const at::Generator& generator, Thread* sender) {
  try {
    const core::GpuGeneratorState state{.seed = generator.current_seed(),
                                        .offset = generator.unsafeGetGeneratorImpl()->get_offset()};
    return fingerprint_of(state, state.offset == 0, sender);
  } catch (...) {
    return {};
  }
}

RngFingerprint cpu_fingerprint(at::CPUGeneratorImpl& engine, Thread* sender) {
  std::unique_lock lock = lock_soon(engine.mutex_);
  if (!lock.owns_lock()) return {};

  const at::mt19937_data_pod data = engine.engine().data();
  const auto float_sample = engine.next_float_normal_sample();
  const auto double_sample = engine.next_double_normal_sample();
  lock.unlock();  // sending may wait

  core::CpuGeneratorState state{};
  state.seed = data.seed_;
  state.left = static_cast<std::uint32_t>(data.left_);
  state.next = data.next_;
  state.words = data.state_;
  if (float_sample) {
    state.next_float_normal = *float_sample;
    state.cached |= core::CpuGeneratorState::kHasFloat;
  }
  if (double_sample) {
    state.next_double_normal = *double_sample;
    state.cached |= core::CpuGeneratorState::kHasDouble;
  }
  // What set_current_seed() leaves: the words that it makes are not numbers yet.
  const bool fresh = data.left_ == 1 && data.next_ == 0 && state.cached == 0;
  return fingerprint_of(state, fresh, sender);
}

}  // namespace

RngFingerprint fingerprint(const at::Generator& generator, Thread* sender) {
  if (!generator.defined()) return {};
  if (generator.device().type() == at::kCUDA) return cuda_fingerprint(generator, sender);
  if (generator.device().type() != at::kCPU) return {};
  return cpu_fingerprint(*at::check_generator<at::CPUGeneratorImpl>(generator), sender);
}

RngFingerprint last_fingerprint(const c10::weak_intrusive_ptr<c10::GeneratorImpl>& generator) {
  if (const auto held = generator.lock()) return fingerprint(at::Generator(held));
  // No generator releases anything before it is destroyed, which the weak reference puts off.
  c10::GeneratorImpl* const gone = generator._unsafe_get_target();
  if (gone == nullptr || gone->device().type() != at::kCPU) return {};
  return cpu_fingerprint(static_cast<at::CPUGeneratorImpl&>(*gone), nullptr);
}

RngFingerprint default_fingerprint(c10::Device device, Thread* sender) {
  if (device.type() == at::kCPU) return fingerprint(at::detail::getDefaultCPUGenerator(), sender);
  if (device.type() != at::kCUDA) return {};
  try {
    return fingerprint(at::globalContext().defaultGenerator(device), sender);
  } catch (...) {
    return {};
  }
}

}  // namespace ulpscope::capture
