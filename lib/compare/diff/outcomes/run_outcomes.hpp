#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compare/diff/outcomes/outcome.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/content.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// What one run of a rank leaves.
struct RunOutcomes {
  std::vector<Outcome> outcomes;
  std::set<Content> contents;
  std::set<Content> unfilled_contents;  ///< of memory that no recorded op has filled
  std::set<std::uint64_t> storages;
  std::set<std::string, std::less<>> standing;  ///< names of parameters and buffers
  Outcome end;  ///< where the run ends, without a slot; no event if that is not recorded
};

/// Outcomes are the last events of a lane, but for what was freed before and has no partner.
[[nodiscard]] RunOutcomes outcomes_of(const RankState& state, Side side);

/// How many tensors without a name, which both runs made with equal content, end in each run with
/// what others of them hold in the other run. Which of two such tensors an op writes shows in
/// nothing else, if only the program reads them, past all ops.
[[nodiscard]] std::uint64_t count_exchanged(const RankState& state, const Both<RunOutcomes>& left);

}  // namespace ulpscope::comparison
