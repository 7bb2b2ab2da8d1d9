#include "cli/check/lockstep.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// A free slot ends a search; that none is among so many happens to next to no digest.
constexpr std::size_t kMostSteps = 64;

/// One program may be ahead by a part of a step, within these bounds.
constexpr std::uint64_t kAheadInStep = 4;
constexpr std::uint64_t kLeastAhead = 32;
constexpr std::uint64_t kMostAhead = 4096;
/// Steps that programs may begin at once where nothing more can be compared.
constexpr std::uint64_t kMostMore = std::uint64_t{1} << 16;

std::uint64_t key_of(const RankIdentity& rank) noexcept {
  return 1 + rank.rank + (std::uint64_t{rank.restart} << 33);
}

}  // namespace

void RecentDigests::add(std::uint64_t digest) noexcept {
  if (digest == 0 || has(digest)) return;
  if (in_newest_ >= kKept) {
    const int other = 1 - newest_.load(std::memory_order_relaxed);
    for (auto& slot : tables_[other]) slot.store(0, std::memory_order_relaxed);
    newest_.store(other, std::memory_order_release);
    in_newest_ = 0;
  }
  Table& table = tables_[newest_.load(std::memory_order_relaxed)];
  for (std::size_t k = 0; k < kMostSteps; ++k) {
    auto& slot = table[(digest + k) % kSlots];
    if (slot.load(std::memory_order_relaxed) != 0) continue;
    slot.store(digest, std::memory_order_relaxed);
    ++in_newest_;
    return;
  }
}

bool RecentDigests::has(std::uint64_t digest) const noexcept {
  for (const Table& table : tables_)
    for (std::size_t k = 0; k < kMostSteps; ++k) {
      const std::uint64_t there = table[(digest + k) % kSlots].load(std::memory_order_relaxed);
      if (there == digest) return true;
      if (there == 0) break;
    }
  return false;
}

void RankPositions::store(const RankIdentity& rank, std::uint64_t position) noexcept {
  const std::uint64_t key = key_of(rank);
  for (Entry& entry : entries_) {
    const std::uint64_t there = entry.rank.load(std::memory_order_relaxed);
    if (there != 0 && there != key) continue;
    if (there == 0 || position > entry.position.load(std::memory_order_relaxed))
      entry.position.store(position, std::memory_order_release);
    if (there == 0) entry.rank.store(key, std::memory_order_release);
    return;
  }
}

std::optional<std::uint64_t> RankPositions::load(const RankIdentity& rank) const noexcept {
  const std::uint64_t key = key_of(rank);
  for (const Entry& entry : entries_) {
    const std::uint64_t there = entry.rank.load(std::memory_order_acquire);
    if (there == key) return entry.position.load(std::memory_order_acquire);
    if (there == 0) break;
  }
  return std::nullopt;
}

bool is_to_wait(const Lockstep& lockstep, bool is_reference) noexcept {
  if (lockstep.both_wait) return true;
  const Advance& own = is_reference ? lockstep.reference : lockstep.candidate;
  const Advance& other = is_reference ? lockstep.candidate : lockstep.reference;
  const std::uint64_t limit = lockstep.step_limit;
  const std::uint64_t steps = own.steps;
  if (steps >= limit) return true;
  if (other.ended || other.steps >= limit) return false;  // it waits for this one, if for anything
  const std::uint64_t position = own.position;
  const std::uint64_t part = std::clamp(position / std::max<std::uint64_t>(steps, 1) / kAheadInStep,
                                        kLeastAhead, kMostAhead);
  return position > other.position.load(std::memory_order_acquire) + part;
}

void StepLimit::move_on(Lockstep& lockstep, std::uint64_t compared) noexcept {
  std::uint64_t slowest = kNone;
  for (const Advance* program : {&lockstep.reference, &lockstep.candidate})
    if (!program->ended) slowest = std::min(slowest, program->steps.load());
  std::uint64_t limit = compared + first();
  const bool wait = slowest != kNone && slowest >= limit;
  if (wait && have_waited_ && compared == compared_) {
    limit = slowest + more_;
    more_ = std::min(2 * more_, kMostMore);
  } else {
    more_ = first();
  }
  have_waited_ = wait;
  compared_ = compared;
  lockstep.step_limit = limit;
}

SharedLockstep::SharedLockstep(std::uint64_t step_limit) {
  void* const memory = mmap(nullptr, sizeof(Lockstep), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorCode::io, "no memory: " + std::generic_category().message(errno));
  memory_ = static_cast<Lockstep*>(memory);  // all zeros, which is what everything begins with
  memory_->step_limit = step_limit;
}

SharedLockstep::~SharedLockstep() { munmap(memory_, sizeof(Lockstep)); }

}  // namespace ulpscope::cli
