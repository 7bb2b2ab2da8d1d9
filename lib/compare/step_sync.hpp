#pragma once

#include <cstdint>
#include <optional>

#include "compare/lane_reader.hpp"
#include "compare/side.hpp"

namespace ulpscope::comparison {

/// Steps that `side` has and the other run lacks, just ahead.
struct ExtraSteps {
  Side side = Side::reference;
  std::uint64_t count = 0;
};

/// Notices where one run has whole steps that the other one lacks (a warm-up, a step that was
/// skipped): what the model makes of its data is then equal to what it makes in another step.
class StepSync {
 public:
  /// Looks at the steps that both readers are about to read. Empty where they belong together, or
  /// where nothing tells that others would. Reads ahead only where their data differ.
  [[nodiscard]] std::optional<ExtraSteps> look(const LaneReader& reference,
                                               const LaneReader& candidate);

 private:
  std::uint64_t steps_ = 0;
  std::uint64_t next_look_ = 0;
  std::uint64_t wait_ = 1;  ///< steps until the next look, after one that found nothing
};

}  // namespace ulpscope::comparison
