#pragma once

#include <vector>

#include "compare/diff/explain/op_pair.hpp"
#include "compare/measure/budget/budget_judge.hpp"

namespace ulpscope::comparison {

/// The error budgets of results of the op, or of one that it calls; none if none were requested.
[[nodiscard]] budget::Judged judge_budget(const OpPair& ops, EventPair at,
                                          const std::vector<SlotPair>& slots);

/// Adds them to a finding, if it was kept, and to those of its op.
void add_budget(RankState& state, const Source& source, const budget::Judged& judged);

}  // namespace ulpscope::comparison
