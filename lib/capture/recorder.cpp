#include "capture/recorder.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "capture/api.hpp"
#include "capture/boundary_links.hpp"
#include "capture/collectives.hpp"
#include "capture/device_values.hpp"
#include "capture/drawn_generators.hpp"
#include "capture/environment.hpp"
#include "capture/forward_links.hpp"
#include "capture/graphs.hpp"
#include "capture/injection.hpp"
#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/module_names.hpp"
#include "capture/object_numbers.hpp"
#include "capture/op_info.hpp"
#include "capture/op_observer.hpp"
#include "capture/outcomes.hpp"
#include "capture/program_symbols.hpp"
#include "capture/python_frames.hpp"
#include "capture/saved_options.hpp"
#include "capture/step_window.hpp"
#include "capture/storage_table.hpp"
#include "capture/thread.hpp"
#include "ring/unnoticed.hpp"

namespace ulpscope::capture {

namespace detail {
std::atomic<bool> recording_switch{false};
std::atomic<bool> silence{false};
std::atomic<bool> newly_forked{false};
}  // namespace detail

namespace {

struct Names {
  std::mutex mutex;
  std::pmr::deque<std::pmr::string> by_id{&process_memory()};
  std::pmr::unordered_map<std::string_view, std::uint32_t> ids{&process_memory()};  ///< of by_id
};

Names& names() {
  static Names& instance = immortal<Names>();
  return instance;
}

/// Longest wait for a writer to complete its dump.
constexpr std::chrono::seconds kPatience{60};

/// Longer than a hook waits for an answer of the writer.
constexpr std::chrono::seconds kPatienceWithHooks{6};

constexpr std::string_view kFellSilent =
    "the program was about to restrict its system calls (seccomp)";

struct Process {
  ring::Client client;
  std::mutex opening;
  std::uint32_t lanes = 0;
  pid_t pid = 0;  ///< as it connected
  Follow follow = Follow::children;
  std::uint32_t forking_thread = 0;  ///< of this process or, in a child, of its parent
  bool locks_are_lost = false;       ///< a forked child with its parent's locks, held or not
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint64_t> epoch{0};
  std::pmr::string socket_path{&process_memory()};
  std::pmr::string capture_version{&process_memory()};
};

constinit ProcessWide<Process> the_process;

inline Process& process() { return the_process.get(); }

/// By the thread that forks, from before it does until after.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool holds_locks = false;

/// fork() copies locks in their current state: hold all of ours, so that the child finds them free.
/// A signal handler that has interrupted a hook may fork too: this thread may then already hold any
/// of them and cannot release it, so none is taken, and the child touches none.
void before_fork() {
  if (detail::InHook::any() || silent()) return;
  holds_locks = true;
  process().opening.lock();
  process().forking_thread = static_cast<std::uint32_t>(gettid());
  lock_outcomes();
  lock_environment();
  lock_step_window();
  lock_module_calls();
  lock_saved_options();
  lock_drawn_generators();
  lock_module_names();
  lock_program_symbols();
  boundary_links().lock();
  forward_links().lock();
  lock_python_frames();
  lock_op_info();
  lock_collectives();
  lock_object_numbers();
  storages().lock();
  lock_device_values();
  lock_graphs();
  names().mutex.lock();
  process_memory().lock();
}

void release_locks() {
  if (!std::exchange(holds_locks, false)) return;
  process_memory().unlock();
  names().mutex.unlock();
  unlock_graphs();
  unlock_device_values();
  storages().unlock();
  unlock_object_numbers();
  unlock_collectives();
  unlock_op_info();
  unlock_python_frames();
  forward_links().unlock();
  boundary_links().unlock();
  unlock_program_symbols();
  unlock_module_names();
  unlock_drawn_generators();
  unlock_saved_options();
  unlock_module_calls();
  unlock_step_window();
  unlock_environment();
  unlock_outcomes();
  process().opening.unlock();
}

bool connect() {
  Process& self = process();
  self.lanes = 0;
  self.pid = getpid();
  self.generation.fetch_add(1, std::memory_order_relaxed);
  tell_roots_again();
  const bool connected = self.client.connect(self.socket_path.c_str(), self.capture_version);
  if (connected) begin_injection();
  detail::recording_switch.store(connected, std::memory_order_relaxed);
  tell_program(connected);
  return connected;
}

/// Knowledge about memory is valid only while it is recorded.
void forget_earlier_recording() {
  const std::lock_guard guard(storages());
  storages().forget();
  forward_links().clear();
  boundary_links().clear();
  Thread::verified_bytes = 0;
}

/// A signal handler may have forked from inside anything: nothing here may allocate or wait.
void after_fork_in_child() {
  const bool was_recording = recording() || detail::newly_forked.load(std::memory_order_relaxed);
  detail::recording_switch.store(false, std::memory_order_relaxed);
  process().client.after_fork_in_child(process().forking_thread);
  forget_device_values();
  forget_collectives();
  detail::InHook::forget_others();
  release_locks();
  process().locks_are_lost = process().locks_are_lost || detail::InHook::any();
  const bool follows = was_recording && process().follow == Follow::children;
  detail::newly_forked.store(follows, std::memory_order_relaxed);
  tell_program_in_child();
}

}  // namespace

bool start_recording(const char* socket_path, std::string_view capture_version, Follow follow) {
  if (silent()) return false;
  Process& self = process();
  if (generation() != 0) forget_earlier_recording();
  self.socket_path = socket_path;
  self.capture_version = capture_version;
  self.follow = follow;
  static const int fork_handled =
      pthread_atfork(&before_fork, &release_locks, &after_fork_in_child);
  // A thread may still be requesting a ring of the previous recording.
  const std::lock_guard guard(self.opening);
  return fork_handled == 0 && connect();
}

std::string_view refusal() noexcept { return silent() ? kFellSilent : process().client.refusal(); }

Follow follows() noexcept { return process().follow; }

void fall_silent() noexcept {
  const ring::Unnoticed unnoticed;
  // A child made by vfork() restricts itself in our memory, before it executes a different program.
  if (process().client.recording() && getpid() != process().pid) return;
  finish_device_values(std::chrono::seconds(10));
  stop_recording(kFellSilent);
  remove_op_observer();
  detail::silence.store(true, std::memory_order_relaxed);
  detail::InHook::wait_for_others(kPatienceWithHooks);
}

void finish_recording() noexcept {
  if (silent()) return;
  finish_device_values(std::chrono::seconds(10));
  send_outcomes_of_run();
  Thread::leave_current();
  detail::recording_switch.store(false, std::memory_order_relaxed);
  tell_program(false);
  process().client.leave(kPatience);
  remove_op_observer();
}

namespace detail {
void end_session(std::string_view why) noexcept {
  recording_switch.store(false, std::memory_order_relaxed);
  tell_program(false);
  process().client.end_session(why);
}

void begin_in_child() noexcept {
  if (InHook::any()) return;  // the handler that forked has returned into a hook of the parent
  if (process().locks_are_lost || silent()) {
    if (newly_forked.exchange(false)) {
      process().client.tell_parent(
          silent() ? kFellSilent : "a signal handler forked it while an op was being recorded");
    }
    return;
  }
  guarded("the start of a child", [] {
    const std::lock_guard guard(process().opening);
    if (!newly_forked.load(std::memory_order_relaxed)) return;
    forget_collectives_of_parent();
    {
      const std::lock_guard storage_guard(storages());
      storages().forget_writers();
    }
    connect();
    newly_forked.store(false, std::memory_order_relaxed);
  });
}
}  // namespace detail

const ring::Settings& settings() noexcept { return process().client.settings(); }

OpenedRing open_ring() {
  Process& self = process();
  char thread_name[16] = {};
  pthread_getname_np(pthread_self(), thread_name, sizeof thread_name);
  const std::lock_guard guard(self.opening);
  OpenedRing opened{.producer = self.client.open_ring(getpid() == gettid(), thread_name),
                    .lane = self.lanes};
  if (opened.producer.recording())
    ++self.lanes;
  else
    detail::recording_switch.store(false, std::memory_order_relaxed);
  return opened;
}

bool ask_inlined_calls(std::string_view object, std::uint64_t address,
                       ring::InlinedCalls& answer) noexcept {
  return process().client.inlined_calls(object, address, answer);
}

std::uint64_t generation() noexcept { return process().generation.load(std::memory_order_relaxed); }

std::uint64_t next_epoch() noexcept {
  return process().epoch.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t current_epoch() noexcept { return process().epoch.load(std::memory_order_relaxed); }

std::uint32_t name_id(std::string_view name) {
  Names& all = names();
  const std::lock_guard guard(all.mutex);
  if (const auto found = all.ids.find(name); found != all.ids.end()) return found->second;
  const std::pmr::string& kept = all.by_id.emplace_back(name);
  const auto id = static_cast<std::uint32_t>(all.by_id.size());
  all.ids.emplace(kept, id);
  return id;
}

std::string_view name_of(std::uint32_t id) {
  Names& all = names();
  const std::lock_guard guard(all.mutex);
  return all.by_id.at(id - 1);
}

}  // namespace ulpscope::capture
