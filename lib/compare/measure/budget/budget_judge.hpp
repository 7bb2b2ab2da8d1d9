#pragma once

#include <cstdint>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/measure/value_judge.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison::budget {

/// The budgets of an op's differing results.
struct Judged {
  struct Result {
    Role role = Role::output;
    std::uint16_t index = 0;
    std::uint16_t element = 0;
    Budget budget;
  };
  std::vector<Result> results;
  BudgetSummary summary;
};

/// Judges the differing results of the op at `at`, given that its inputs are equal; if they were
/// not compared it has no budget. A result outside its budget may still be inside the tolerance.
[[nodiscard]] Judged judge(const Scene& scene, EventPair at, const std::vector<SlotPair>& slots,
                           bool inputs_compared, ValueJudge& values);

/// Adds one op's counts to others.
void add(BudgetSummary& to, const BudgetSummary& more);

}  // namespace ulpscope::comparison::budget
