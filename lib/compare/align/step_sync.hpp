#pragma once

#include <cstdint>

#include "compare/align/step_sketch.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// How many of the next steps of each run belong together. Steps that the other run lacks are 0
/// there.
using StepGroup = Both<std::uint64_t>;

/// Detects whole steps of one run that the other one lacks (a warm-up, a step that was skipped):
/// the model's results from its data then equal those of a different step. And steps of which only
/// several together have partners, as an update that one run alone makes ends a step.
class StepSync {
 public:
  /// Examines the steps that both readers are about to read. One of each if they belong together,
  /// or if nothing shows that others would. Reads ahead only if their data differ.
  [[nodiscard]] StepGroup look(const LaneReader& reference, const LaneReader& candidate);

 private:
  /// After a check that found nothing, the next one comes later each time.
  class Patience {
   public:
    [[nodiscard]] bool is_over(std::uint64_t steps) const { return steps >= next_; }
    void begin_again(std::uint64_t steps) {
      next_ = steps + wait_;
      wait_ *= 2;
    }

   private:
    std::uint64_t next_ = 0;
    std::uint64_t wait_ = 1;
  };

  Both<StepsAhead> ahead_;
  Both<TrainingBegin> training_;
  std::uint64_t steps_ = 0;
  Patience extra_;
  Patience joined_;
};

}  // namespace ulpscope::comparison
