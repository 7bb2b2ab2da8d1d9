#pragma once

#include <cstdint>
#include <vector>

#include "compare/describe.hpp"
#include "compare/evidence.hpp"
#include "compare/value_judge.hpp"

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

  /// Attaches each budget to the tensor of the finding that it is for.
  void enter(Record& record) const;
};

/// Judges what the op at `at` left with other bits, given that its inputs are equal; where they
/// were not compared it has no budget. What is outside of its budget may still be inside of the
/// tolerance.
[[nodiscard]] Judged judge(const Scene& scene, EventPair at, const std::vector<SlotPair>& slots,
                           bool inputs_compared, ValueJudge& values);

/// Adds one op's counts to others.
void add(BudgetSummary& to, const BudgetSummary& more);

}  // namespace ulpscope::comparison::budget
