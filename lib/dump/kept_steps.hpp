#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// What of a rank belongs to the dump if only its last steps are requested: whole segments are
/// removed once nothing in them does, and readers leave out other older steps.
class KeptSteps {
 public:
  /// @param steps how many; 0: all of them
  /// @param oldest_segment the first one that exists
  KeptSteps(std::uint32_t steps, std::uint32_t oldest_segment)
      : steps_(steps), oldest_segment_(oldest_segment) {}

  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t values = 0;
  };
  /// Counts a block of `step`.
  void count(std::int64_t step, const Counts& block);

  /// A segment is about to be published whose blocks end with `last_step`; `newest_step` is the
  /// latest that is over. Returns the segments that are not needed once it is.
  [[nodiscard]] std::vector<std::uint32_t> publish(std::uint32_t segment, std::int64_t last_step,
                                                   std::int64_t newest_step);

  [[nodiscard]] std::uint32_t oldest_segment() const noexcept { return oldest_segment_; }
  /// The first step that belongs to the dump; kSetup where all do.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_step_; }
  /// What was counted of steps before it.
  [[nodiscard]] const Counts& let_go() const noexcept { return let_go_; }
  /// Steps after which a segment is published, so that few more are kept than requested; 0: any
  /// number.
  [[nodiscard]] std::uint32_t steps_per_segment() const noexcept {
    return steps_ / kSegments + (steps_ % kSegments == 0 ? 0 : 1);
  }

 private:
  static constexpr std::uint32_t kSegments = 4;

  struct Segment {
    std::uint32_t number;
    std::int64_t last_step;
  };

  std::uint32_t steps_;
  std::uint32_t oldest_segment_;
  std::int64_t first_step_ = kSetup;
  std::deque<Segment> segments_;
  std::map<std::int64_t, Counts> counted_;  ///< by step, from `first_step_` on
  Counts let_go_;
};

/// Says that a rank's steps before `first` do not belong to the dump.
[[nodiscard]] std::string not_kept(std::int64_t first);
/// Says of a rank that its steps before `first` do not belong to the dump.
[[nodiscard]] std::string not_kept(std::uint32_t rank, std::int64_t first);

}  // namespace ulpscope::dump
