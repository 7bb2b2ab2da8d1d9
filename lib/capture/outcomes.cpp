#include "capture/outcomes.hpp"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "capture/collectives.hpp"
#include "capture/device_values.hpp"
#include "capture/drawn_generators.hpp"
#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/injection.hpp"
#include "capture/mapped_memory.hpp"
#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/module_names.hpp"
#include "capture/rng.hpp"
#include "capture/step_window.hpp"
#include "capture/storage_table.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::uint32_t kStateFlags = slot_flag::parameter | slot_flag::buffer;
constexpr std::size_t kMostSlots = 1024;  ///< of one event
constexpr std::size_t kMostFreed = 65536;
constexpr std::size_t kMostForeign = std::size_t{256} << 20;
constexpr std::size_t kMostOfTask = std::size_t{256} << 20;

/// Memory that is left, and its digest.
struct Outcome {
  FreedState state;
  std::uint32_t flags = 0;
  std::optional<Digest> digest;
};

constexpr std::uint32_t kNoLane = ~0U;

/// Watched memory that threads have freed since their last op, by lane: a thread may never end.
class FreedMemory {
 public:
  void add(const Thread* thread, const FreedState& state) {
    const std::lock_guard guard(mutex_);
    if (thread == nullptr && states_.size() >= kMostFreed) return;
    states_.push_back({generation(), thread == nullptr ? kNoLane : thread->lane(), state});
  }

  /// Removes what a lane has freed, in that order.
  std::pmr::vector<FreedState> take_of(std::uint32_t lane) {
    return take([lane](const Freed& freed) { return freed.lane == lane; });
  }
  std::pmr::vector<FreedState> take_all() {
    return take([](const Freed&) { return true; });
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Freed {
    std::uint64_t generation = 0;  ///< of the recording
    std::uint32_t lane = kNoLane;
    FreedState state;
  };

  template <class Fits>
  std::pmr::vector<FreedState> take(Fits&& fits) {
    std::pmr::vector<FreedState> taken(&process_memory());
    const std::lock_guard guard(mutex_);
    std::erase_if(states_, [&](const Freed& freed) {
      if (freed.generation != generation()) return true;
      if (!fits(freed)) return false;
      taken.push_back(freed.state);
      return true;
    });
    return taken;
  }

  std::mutex mutex_;
  std::pmr::vector<Freed> states_{&process_memory()};
};

FreedMemory& freed_memory() {
  static FreedMemory& instance = immortal<FreedMemory>();
  return instance;
}

bool is_state(std::uint32_t name_flags) { return (name_flags & kStateFlags) != 0; }

/// What recorded ops have left in its meaningful bytes; zero if they are not known to have written
/// all of them at once, or if they were viewed as anything other than bytes.
Digest known_digest(Storage& storage) {
  Region* const whole = storage.regions.find(storage.meaningful());
  if (whole != nullptr && whole->ticket != 0) settle(*whole);
  return whole == nullptr || whole->ticket != 0 ? Digest{} : whole->digest;
}

FreedState state_of(Storage& storage) {
  const std::uint32_t kept = (storage.optimizer_state ? slot_flag::optimizer_state : 0) |
                             (storage.leaf_gradient ? slot_flag::gradient : 0);
  const RegionKey meaningful = storage.meaningful();
  const Digest known = known_digest(storage);
  const bool filled_by_others = !storage.produced && !is_state(storage.name.flags);
  return {.digest = {},
          .storage = storage.id,
          .offset = meaningful.offset,
          .bytes = meaningful.bytes,
          .unproduced = filled_by_others && (storage.foreign || known == Digest{}),
          .known = known,
          .writer = storage.writer,
          .writes = storage.writes,
          .name = storage.name.id,
          .name_flags = storage.name.flags | kept,
          .module = storage.name.module,
          .dtype = storage.dtype};
}

/// As a whole.
bool means_nothing(const Storage& storage) {
  return storage.scratch || storage.has_gaps || storage.handle;
}

/// An op has read all of memory that no op has written, such as that of a loaded tensor: a change
/// since then shows.
bool was_read(Storage& storage) {
  return storage.bytes != 0 && !means_nothing(storage) && !storage.produced && !storage.foreign &&
         storage.uninitialised.empty() && !is_filtered() && !only_layers() &&
         known_digest(storage) != Digest{};
}

Digest digest_of(const void* memory, const FreedState& state) {
  return digest({static_cast<const std::byte*>(memory) + state.offset, state.bytes});
}

/// Its bytes mean the same in every run.
bool is_left(const Storage& storage) {
  if (storage.bytes == 0 || means_nothing(storage)) return false;
  return is_state(storage.name.flags) || ((storage.produced || storage.foreign || storage.given) &&
                                          !is_filtered() && !only_layers());
}

Outcome outcome_of(const FreedState& freed) {
  Outcome outcome{.state = freed, .flags = freed.name_flags, .digest = freed.digest};
  if (freed.unproduced)
    outcome.flags |= slot_flag::unproduced;
  else if (freed.known != Digest{})
    outcome.flags |= freed.known == freed.digest ? slot_flag::verified : slot_flag::changed;
  return outcome;
}

/// Whether there is memory behind a storage that LibTorch's allocator did not make: its owner may
/// have freed it. Counts what is read of such memory, and stops where it becomes too much.
bool can_read_foreign(const c10::StorageImpl& storage, std::size_t& bytes) {
  if (storage.nbytes() > kMostForeign - bytes) return false;
  bytes += storage.nbytes();
  return is_mapped(storage.data(), storage.nbytes());
}

/// As recorded ops have left it.
Outcome as_known(Storage& storage) {
  Outcome outcome{.state = state_of(storage), .flags = {}, .digest = {}};
  outcome.flags = outcome.state.name_flags;
  if (!storage.uninitialised.empty())
    outcome.flags |= slot_flag::uninitialised;
  else if (outcome.state.known != Digest{})
    outcome.digest = outcome.state.known;
  return outcome;
}

enum class EndOf : std::uint8_t { run, task };

/// What a task may have left is memory of its own process.
bool is_to_be_sent(Storage& storage, EndOf end) {
  if (storage.alive.expired() || (end == EndOf::task && storages().is_inherited(storage)))
    return false;
  return was_read(storage) || is_left(storage);
}

std::size_t bytes_of_tasks() {
  std::size_t bytes = 0;
  const std::lock_guard guard(storages());
  storages().for_each([&](Storage& storage) {
    if (is_to_be_sent(storage, EndOf::task)) bytes += storage.bytes;
  });
  return bytes;
}

/// Live storages, in the order in which they were made. Each is held while it is read, because
/// another thread may release it. What memory of another process holds at the moment when this one
/// ends is a matter of chance: the process that made it, and goes on, reads it at its own end.
void add_standing(std::pmr::vector<Outcome>& outcomes, EndOf end) {
  struct Standing {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::size_t bytes = 0;
    Outcome outcome;
    bool foreign = false;
  };
  std::pmr::vector<Standing> standing(&process_memory());
  std::size_t foreign_bytes = 0;
  {
    const std::lock_guard guard(storages());
    storages().for_each([&](Storage& storage) {
      if (is_to_be_sent(storage, end))
        standing.push_back({storage.alive, storage.bytes, as_known(storage), storage.foreign});
    });
  }
  std::sort(standing.begin(), standing.end(), [](const Standing& a, const Standing& b) {
    return a.outcome.state.storage < b.outcome.state.storage;
  });
  using Of = BorrowedMemory::Of;
  const BorrowedMemory borrowed(end == EndOf::task ? Of::anyone : Of::running_makers);
  for (Standing& one : standing) {
    const auto held = one.storage.lock();
    if (!held) continue;
    Outcome& outcome = one.outcome;
    const bool reads = !is_arriving(*held) && settings().verify == ring::Verify::full &&
                       held->device_type() == at::kCPU && held->data() != nullptr &&
                       held->nbytes() == one.bytes && !borrowed.has(held->data()) &&
                       (!one.foreign || can_read_foreign(*held, foreign_bytes));
    if (reads) {
      outcome.state.digest = digest_of(held->data(), outcome.state);
      const std::uint32_t unfilled = outcome.flags & slot_flag::uninitialised;
      outcome = outcome_of(outcome.state);
      outcome.flags |= unfilled;
    }
    outcomes.push_back(outcome);
  }
}

/// What this thread has freed since its last op, watched memory and memory that no op filled aside.
void add_freed(const Thread& thread, std::pmr::vector<Outcome>& outcomes) {
  if (thread.freed.empty()) return;
  // Of storages that used the same memory in turn, the last one was freed.
  struct Freed {
    bool verified = false;
    Storage* storage = nullptr;
  };
  std::pmr::unordered_map<const void*, Freed> freed(&process_memory());
  for (const FreedBlock& block : thread.freed)
    freed.insert_or_assign(block.memory, Freed{.verified = block.verified});
  std::pmr::map<std::uint64_t, Outcome> found(&process_memory());
  const std::lock_guard guard(storages());
  storages().for_each([&](Storage& storage) {
    const auto at = freed.find(storage.data);
    if (at == freed.end() || !storage.alive.expired()) return;
    Storage*& last = at->second.storage;
    if (last == nullptr || last->id < storage.id) last = &storage;
  });
  for (const auto& [memory, one] : freed) {
    Storage* const storage = one.storage;
    if (storage == nullptr || !is_left(*storage) || !storage->uninitialised.empty()) continue;
    Outcome outcome = as_known(*storage);
    if (one.verified) outcome.flags |= slot_flag::verified;
    found.emplace(storage->id, outcome);
  }
  for (const auto& [id, outcome] : found) outcomes.push_back(outcome);
}

void add_states(const std::pmr::vector<FreedState>& freed, std::pmr::vector<Outcome>& outcomes) {
  for (const FreedState& state : freed) {
    outcomes.push_back(outcome_of(state));
    outcomes.back().flags |= slot_flag::freed;
  }
}

/// Memory that was read again, and holds what recorded ops are not known to have left there.
bool is_unseen(const Outcome& outcome) {
  if (!outcome.digest || (outcome.flags & slot_flag::verified) != 0) return false;
  constexpr std::uint32_t kLeftByOthers = slot_flag::changed | slot_flag::unproduced;
  return (outcome.flags & kLeftByOthers) != 0 || outcome.state.known == Digest{};
}

/// Which piece of work was a thread's last is a race where threads share it, and gradients come and
/// go with each step: what recorded ops have left in them and in optimizer state is known without
/// this.
bool matters_elsewhere(const FreedState& state) {
  return is_state(state.name_flags) || (outcome_of(state).flags & slot_flag::changed) != 0;
}

void add_what_matters(const std::pmr::vector<FreedState>& freed,
                      std::pmr::vector<Outcome>& outcomes) {
  std::pmr::vector<FreedState> last(freed, &process_memory());
  std::erase_if(last, [](const FreedState& state) { return !matters_elsewhere(state); });
  add_states(last, outcomes);
}

ring::SlotRow row_of(Thread& thread, const Outcome& outcome, std::uint16_t index) {
  const FreedState& state = outcome.state;
  ring::SlotRow row{};
  row.role = static_cast<std::uint8_t>(Role::input);
  row.index = index;
  row.storage = state.storage;
  row.writes = state.writes;
  row.writer = state.writer.position;
  row.writer_lane = state.writer.lane;
  row.flags = outcome.flags;
  if (state.name != 0) row.name = thread.string(state.name);
  const std::size_t size = c10::elementSize(static_cast<c10::ScalarType>(state.dtype));
  const bool fits = size != 0 && state.bytes % size == 0;
  row.geometry = thread.row_geometry(fits ? state.dtype : 0,
                                     static_cast<std::int64_t>(state.bytes / (fits ? size : 1)));
  if (outcome.digest) {
    row.digest[0] = outcome.digest->high;
    row.digest[1] = outcome.digest->low;
  } else {
    row.flags |= slot_flag::no_digest;
  }
  const std::lock_guard guard(storages());
  row.value = storages().next_value();
  return row;
}

std::uint32_t root_of(const Outcome& outcome) {
  return outcome.state.module == 0 ? 0 : capture::root_of(outcome.state.module);
}

/// One event for each root, and one for what belongs to none.
void send(Thread& thread, const OpInfo& info, std::pmr::vector<Outcome>& outcomes,
          const RngFingerprint& generator) {
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return root_of(a) < root_of(b); });
  std::size_t next = 0;
  bool first = true;
  while (first || next < outcomes.size()) {
    const std::uint32_t root = next < outcomes.size() ? root_of(outcomes[next]) : 0;
    Frame frame = new_event(thread, info);
    frame.module = root;
    frame.flags &= ~event_flag::grad_mode;
    if (first && generator.known) {
      frame.flags |= event_flag::seeded;
      frame.rng_before = generator;
    }
    first = false;
    thread.frames.push_back(std::move(frame));
    for (std::uint16_t index = 0;
         next < outcomes.size() && index < kMostSlots && root_of(outcomes[next]) == root;
         ++index, ++next)
      thread.slots.push_back(row_of(thread, outcomes[next], index));
    end_innermost(thread, generator);
  }
}

const OpInfo& outcome(std::string_view name) { return named_info(EventKind::outcome, name); }

/// Watched memory is digested before it is gone. Of memory that no op has used, or perhaps not
/// filled, only a change counts. The block is given what is known of it.
std::optional<FreedState> freed_state(FreedBlock& block) {
  const void* const memory = block.memory;
  if (!storages().may_be_noted(memory)) return {};
  FreedState state;
  bool watched = false;
  bool is_meaningless = false;
  {
    const std::lock_guard guard(storages());
    const StorageTable::Noted noted = storages().noted_at(memory);
    storages().forget_noted(memory);
    Storage* const storage = noted.entry;
    if (storage == nullptr) return {};
    block.key = noted.key;
    block.storage = storage->id;
    if (!noted.may_matter()) return {};
    const bool is_filled = storage->uninitialised.empty();
    if (!is_filled && !storage->filled_in_part) return {};
    state = state_of(*storage);
    watched = storage->watched && is_filled;
    is_meaningless = means_nothing(*storage);
  }
  if (!watched && (is_meaningless || state.known == Digest{})) return {};
  state.digest = digest_of(memory, state);
  block.verified = state.digest == state.known;
  if (!watched && block.verified) return {};
  return state;
}

void renew_collided_names() {
  const auto collided = [] {
    const std::lock_guard guard(storages());
    return storages().names_collided();
  };
  if (collided()) renew_names();
}

}  // namespace

void note_freed(const void* memory) noexcept {
  if (memory == nullptr || detail::InHook::any()) return;
  Thread* const thread = Thread::opened();
  if (thread != nullptr && !in_user_code(*thread)) {  // an op's own
    if (!storages().may_be_noted(memory)) return;
    return guarded("a note of freed memory", [&] {
      const std::lock_guard guard(storages());
      storages().let_go(memory);
    });
  }
  if (thread == nullptr && !storages().may_be_noted(memory)) return;
  guarded("a note of freed memory", [&] {
    FreedBlock block{.memory = memory};
    const auto state = freed_state(block);
    if (!state) {
      if (thread != nullptr && thread->freed.size() < kMostFreed) thread->freed.push_back(block);
      return;
    }
    if (thread != nullptr || matters_elsewhere(*state)) {
      freed_memory().add(thread, *state);
      if (thread != nullptr) thread->freed_watched = true;
    }
    const std::lock_guard guard(storages());
    storages().let_go(block);
  });
}

void send_freed_state(Thread& thread) {
  thread.freed_watched = false;
  std::pmr::vector<Outcome> outcomes(&process_memory());
  add_what_matters(freed_memory().take_of(thread.lane()), outcomes);
  if (outcomes.empty()) return;
  send(thread, named_info(EventKind::parameters, kFreedParameters), outcomes, {});
}

void send_outcomes_of_thread(Thread& thread) {
  if (idle()) return;
  std::pmr::vector<Outcome> outcomes(&process_memory());
  add_what_matters(freed_memory().take_of(thread.lane()), outcomes);
  thread.freed_watched = false;
  if (outcomes.empty()) return;
  close_frames_above(thread, 0);
  send(thread, outcome("end of thread"), outcomes, {});
}

void send_outcomes_of_run(bool at_once) noexcept {
  if (!recording() || idle() || detail::InHook::any()) return;
  Thread* const thread = at_once ? Thread::opened() : Thread::current();
  if (thread == nullptr || thread->ended_at == thread->next_position) return;
  const Thread::Inside inside(*thread);
  guarded("the outcomes of a run", [&] {
    close_frames_above(*thread, 0);
    finish_device_values(std::chrono::seconds(1));
    see_parameters_left(*thread);
    renew_collided_names();
    std::pmr::vector<Outcome> outcomes(&process_memory());
    add_freed(*thread, outcomes);
    if (!outcomes.empty()) send(*thread, outcome("end of thread"), outcomes, {});
    outcomes.clear();
    add_states(freed_memory().take_of(thread->lane()), outcomes);
    thread->freed_watched = false;
    add_what_matters(freed_memory().take_all(), outcomes);
    add_standing(outcomes, EndOf::run);
    give_up_arriving(*thread);
    send_moved_generators(*thread);
    send(*thread, outcome("end of run"), outcomes,
         default_fingerprint(c10::Device(c10::DeviceType::CPU)));
    tell_injection(*thread);
    thread->ended_at = thread->next_position;
  });
}

void send_outcomes_of_task() noexcept {
  if (!recording() || idle() || detail::InHook::any()) return;
  Thread* const thread = Thread::opened();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded("the outcomes of a task", [&] {
    if (bytes_of_tasks() > kMostOfTask) return;
    close_frames_above(*thread, 0);
    renew_collided_names();
    std::pmr::vector<Outcome> outcomes(&process_memory());
    add_what_matters(freed_memory().take_all(), outcomes);
    thread->freed_watched = false;
    add_standing(outcomes, EndOf::task);
    std::erase_if(outcomes, [](const Outcome& one) { return !is_unseen(one); });
    send(*thread, outcome("end of task"), outcomes,
         default_fingerprint(c10::Device(c10::DeviceType::CPU)));
  });
}

void send_outcomes_at_exit() {
  // LibTorch destroys its generator at exit, too: what is made first is destroyed last.
  static const int registered = (static_cast<void>(default_fingerprint(c10::DeviceType::CPU)),
                                 std::atexit(+[] { send_outcomes_of_run(); }));
  static_cast<void>(registered);
}

void note_foreign(const at::Tensor& tensor) {
  if (!recording() || idle() || !tensor.has_storage() || !tensor.is_cpu()) return;
  guarded("memory of the program's own", [&] {
    const std::lock_guard guard(storages());
    storages().at(*tensor.storage().unsafeGetStorageImpl());
  });
}

void lock_outcomes() { freed_memory().lock(); }
void unlock_outcomes() { freed_memory().unlock(); }

}  // namespace ulpscope::capture
