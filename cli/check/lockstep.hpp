#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// The digests that a run has made last, in memory that two processes share: one adds, one asks.
/// The oldest are forgotten, half of them at a time.
class RecentDigests {
 public:
  static constexpr std::size_t kKept = std::size_t{1} << 19;  ///< at least

  void add(std::uint64_t digest) noexcept;
  [[nodiscard]] bool has(std::uint64_t digest) const noexcept;

 private:
  static constexpr std::size_t kSlots = 2 * kKept;
  using Table = std::atomic<std::uint64_t>[kSlots];  // 0: free

  Table tables_[2];
  std::atomic<int> newest_;
  std::size_t in_newest_;
};

/// How far a recorded program has got.
struct Advance {
  std::atomic<std::uint64_t> position;  ///< of its newest event
  std::atomic<std::uint64_t> steps;     ///< that have begun for certain
  std::atomic<bool> ended;
};

/// How far each rank has got that a variable declares; those aside for which there is no room. One
/// process stores, another one loads.
class RankPositions {
 public:
  void store(const RankIdentity& rank, std::uint64_t position) noexcept;
  /// Empty if the rank has not begun.
  [[nodiscard]] std::optional<std::uint64_t> load(const RankIdentity& rank) const noexcept;

 private:
  static constexpr std::size_t kRanks = 1024;

  struct Entry {
    std::atomic<std::uint64_t> rank;  // and restarts of it; 0: free
    std::atomic<std::uint64_t> position;
  };

  Entry entries_[kRanks];
};

/// What the recorders of two programs that run side by side know of each other.
struct Lockstep {
  RecentDigests digests;    ///< of the reference
  RankPositions positions;  ///< of its newest events
  Advance reference;
  Advance candidate;
  /// Steps that either may have begun: those before have been compared or will be kept until then.
  std::atomic<std::uint64_t> step_limit;
  std::atomic<bool> both_wait;  ///< while steps are compared
};

/// Whether one of the two programs waits. It waits for the other one if it is ahead, and for what
/// is compared in the last step that it may begin. Both wait only in that step, until StepLimit
/// gives them another one.
[[nodiscard]] bool is_to_wait(const Lockstep& lockstep, bool is_reference) noexcept;

/// What becomes of Lockstep::step_limit when what both have published has been compared.
class StepLimit {
 public:
  /// @param ahead steps that either may begin beyond those that are compared
  explicit StepLimit(std::uint64_t ahead) : ahead_(ahead), more_(ahead + 1) {}

  [[nodiscard]] std::uint64_t first() const noexcept { return ahead_ + 1; }
  /// Where no step has been compared since the last call and no program that runs may begin
  /// another one, it moves on with them: what they wait for does not come. It does so further each
  /// time.
  void move_on(Lockstep& lockstep, std::uint64_t compared) noexcept;

 private:
  std::uint64_t ahead_;
  std::uint64_t more_;  ///< steps by which it moves on
  std::uint64_t compared_ = 0;
  bool have_waited_ = false;  ///< before the last call
};

/// Shared with the processes that this one starts by fork().
class SharedLockstep {
 public:
  /// @throws Error with ErrorCode::io if there is no memory.
  explicit SharedLockstep(std::uint64_t step_limit);
  SharedLockstep(const SharedLockstep&) = delete;
  SharedLockstep& operator=(const SharedLockstep&) = delete;
  ~SharedLockstep();

  [[nodiscard]] Lockstep& operator*() const noexcept { return *memory_; }
  [[nodiscard]] Lockstep* operator->() const noexcept { return memory_; }

 private:
  Lockstep* memory_;
};

}  // namespace ulpscope::cli
