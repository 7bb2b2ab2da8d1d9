#pragma once

#include <cstdint>
#include <set>

#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// How many results of ops that only this run has stand in place of a result of both, as far as
/// that shows: no op reads them, and what they were computed from was computed in both runs and is
/// read by nothing else. A program reads such values itself, past all ops. So are gradients that
/// only this run has accumulated and still holds, as far as it is known. What no op reads otherwise
/// is nobody's result. Those that the other run makes, too, are not counted, nor is memory that is
/// `left` when the run ends.
[[nodiscard]] std::uint64_t count_unread_results(const RankState& state, Side side,
                                                 const std::set<std::uint64_t>& left);

}  // namespace ulpscope::comparison
