#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Steps that `side` has and the other run lacks, just ahead.
struct ExtraSteps {
  Side side = Side::reference;
  std::uint64_t count = 0;
};

/// Some of the values of a step, chosen by their content, so that equal steps keep the same ones.
/// Keys of digests, ascending.
struct StepSketch {
  std::int64_t step = kSetup;
  std::vector<std::uint64_t> data;  ///< from outside of the model
  std::vector<std::uint64_t> made;
  std::vector<std::uint64_t> read;        ///< by forward, and made by none of the step's ops
  std::vector<std::uint64_t> parameters;  ///< as they were read
};

/// The next steps of a lane, each sketched once however often they are used.
class StepsAhead {
 public:
  /// Those from the step on that `reader` is about to read. Valid until the next call.
  const std::deque<StepSketch>& from(const LaneReader& reader);

 private:
  std::optional<LaneReader> reader_;  ///< after the last of them
  std::deque<StepSketch> sketches_;
};

/// Detects whole steps of one run that the other one lacks (a warm-up, a step that was
/// skipped): the model's results from its data then equal those of a different step.
class StepSync {
 public:
  /// Examines the steps that both readers are about to read. Empty if they belong together, or if
  /// nothing shows that others would. Reads ahead only if their data differ. `passed`: steps that
  /// one run has executed within the previous step, as a part of it; then equal data is enough.
  [[nodiscard]] std::optional<ExtraSteps> look(const LaneReader& reference,
                                               const LaneReader& candidate,
                                               const std::optional<ExtraSteps>& passed = {});

 private:
  Both<StepsAhead> ahead_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_look_ = 0;
  std::uint64_t wait_ = 1;  ///< steps until the next check, after one that found nothing
};

}  // namespace ulpscope::comparison
