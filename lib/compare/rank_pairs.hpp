#pragma once

#include <cstdint>
#include <vector>

#include "compare/side.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// Which ranks are compared with each other, by the reference's number.
///
/// The only rank of either run has the other run's for a partner. Ranks that a variable declares go
/// by what it says; a process that was the same rank again, after the first, has its place in time.
/// The others go by the partners of their creators and by the order in which these created them.
/// Where that order says nothing, or one run has more of them, what they compute decides: those
/// with most values in common are partners. What is left goes by number, and so do ranks of older
/// dumps.
[[nodiscard]] std::vector<RankPair> rank_pairs(const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
