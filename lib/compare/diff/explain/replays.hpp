#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compare/diff/explain/op_pair.hpp"
#include "compare/measure/budget/replay_judge.hpp"

namespace ulpscope::comparison {

/// Which run an origin outside of its budget is wrong in: the op replayed on each run's own inputs.
[[nodiscard]] budget::ReplayJudged judge_own(const OpPair& ops, EventPair at,
                                             const std::vector<SlotPair>& slots,
                                             budget::Judged& judged);

/// Writes that into a finding.
void enter_own(Record& record, const budget::ReplayJudged& replay);

/// An op of `side` that computes what different ops do in the other run: with error budgets it, or
/// else what it calls, is compared with its own replay.
/// @param after the last partner before it, as a position in the reference.
void judge_alone(RankState& state, const Scene& scene, Side side, std::uint32_t event,
                 std::optional<std::uint64_t> after, std::size_t depth = 0);

}  // namespace ulpscope::comparison
