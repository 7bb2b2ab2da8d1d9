#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// Which ranks are compared with each other, by the reference's number.
///
/// If each run has only one rank, these are partners. Ranks that a variable declares are paired by
/// its value; a process that was the same rank again, after the first, by its order in time. The
/// others are paired by the partners of their creators and by the order in which these created
/// them. If that order says nothing, or one run has more of them, what they compute decides: those
/// with most values in common are partners. The rest, and ranks of older dumps, are paired by
/// number.
/// @param shared ranks that have no partner
[[nodiscard]] std::vector<RankPair> rank_pairs(const Both<const Run*>& runs,
                                               const Both<std::set<std::uint32_t>>& shared = {});

}  // namespace ulpscope::comparison
