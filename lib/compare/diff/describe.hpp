#pragma once

#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/evidence.hpp"
#include "compare/measure/budget/budget_judge.hpp"
#include "compare/model/place.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// Everything that a finding says about its location. `at` holds kNoIndex for a run without the
/// event; names come from the reference where it has it.
[[nodiscard]] Finding describe(FindingKind kind, const Scene& scene, EventPair at);

/// What a report says of a tensor.
[[nodiscard]] ReportedTensor reported(const SlotPair& pair);

/// Lists the tensors of a finding that hold values, keeping the differing ones first if there are
/// very many, together with the evidence for each.
void add_tensors(Record& record, const std::vector<SlotPair>& slots);

/// Attaches each budget to the tensor of the finding that it is for.
void add_budgets(Record& record, const budget::Judged& judged);

}  // namespace ulpscope::comparison
