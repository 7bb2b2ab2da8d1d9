#include "compare/measure/budget/budget_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/measure/budget/models.hpp"
#include "compare/measure/budget/positions.hpp"
#include "compare/measure/budget/rounding.hpp"
#include "compare/measure/elements.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/measure/tensor_bytes.hpp"
#include "compare/measure/value_names.hpp"

namespace ulpscope::comparison::budget {
namespace {

/// The largest share that an element takes; infinite where one has none.
[[nodiscard]] double used_share(const Allowance& allowance, Dtype dtype,
                                const std::vector<Number>& reference,
                                const std::vector<Number>& candidate) {
  const std::size_t parts = is_complex(dtype) ? 2 : 1;
  double used = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double a = reference[i].value;
    const double b = candidate[i].value;
    if (std::isnan(a) && std::isnan(b)) continue;
    if (std::isinf(a) && a == b) continue;
    const double distance = std::abs(a - b);
    if (!std::isfinite(distance)) return std::numeric_limits<double>::infinity();
    if (distance == 0) continue;
    double size = std::abs(a);
    if (parts == 2) size = std::hypot(a, reference[i ^ 1].value);
    used = std::max(used, distance / allowed(allowance, size, dtype));
  }
  return used;
}

/// Judges one result with other bits. What was rounded nowhere may differ in none.
[[nodiscard]] Budget judge_result(const Allowance& allowance, const TensorBytes& tensor) {
  Budget budget;
  budget.why = allowance.why;
  if (!is_rounded(tensor.dtype)) budget.why = "these are not rounded numbers";
  if (!is_rounded(tensor.dtype) || allows_nothing(allowance)) return budget;
  budget.ulp = std::round(std::max(allowance.relative, allowance.absolute));
  const auto reference = decode(tensor.dtype, tensor.bytes.reference);
  const auto candidate = decode(tensor.dtype, tensor.bytes.candidate);
  if (!reference || !candidate) return budget;
  const double used = used_share(allowance, tensor.dtype, *reference, *candidate);
  budget.inside = used <= 1;
  if (std::isfinite(used)) budget.used = used;
  return budget;
}

}  // namespace

Judged judge(const Scene& scene, EventPair at, const std::vector<SlotPair>& slots,
             bool inputs_compared, ValueJudge& values) {
  Judged judged;
  OpView op(*scene.runs.reference, scene.ranks.reference,
            scene.windows.reference->event(at.reference));
  op.add_other(scene.windows.candidate->event(at.candidate));
  const Model model = inputs_compared ? model_of(op.op()) : nullptr;
  for (const SlotPair& slot : slots) {
    if (slot.role() == Role::input || slot.match != Match::differs) continue;
    BudgetSummary& sum = judged.summary;
    const auto tensor =
        tensor_bytes(scene.runs, scene.ranks, {slot.reference->digest, slot.candidate->digest},
                     {*slot.reference->geometry, *slot.candidate->geometry});
    if (!tensor) {
      ++sum.without_bytes;
      continue;
    }
    op.look_at(*slot.reference);
    if (model != nullptr && pick_equal_numbers(op, *tensor)) {
      Budget budget;
      budget.why = "which of several equal numbers is open";
      budget.inside = true;
      ++sum.inside;
      judged.results.push_back(
          {slot.role(), slot.reference->index, slot.reference->element, budget});
      continue;
    }
    const Allowance allowance =
        model == nullptr ? Allowance{} : allowance_of(model, op, slot.reference->index);
    const bool has_model = is_known(allowance);
    std::uint64_t* count = has_model ? &sum.without_bytes : &sum.without_model;
    if (has_model && !op.lacks_bytes()) {
      const Budget budget = judge_result(allowance, *tensor);
      count = budget.inside ? &sum.inside : &sum.outside;
      if (budget.used) sum.largest_used = std::max(sum.largest_used.value_or(0), *budget.used);
      judged.results.push_back(
          {slot.role(), slot.reference->index, slot.reference->element, budget});
    }
    if (count != &sum.inside && values.allows(*tensor, [&] { return names_of(scene, at, slot); }))
      count = &sum.allowed;
    ++*count;
  }
  return judged;
}

void add(BudgetSummary& to, const BudgetSummary& more) {
  to.inside += more.inside;
  to.allowed += more.allowed;
  to.outside += more.outside;
  to.without_bytes += more.without_bytes;
  to.without_model += more.without_model;
  if (more.largest_used)
    to.largest_used = std::max(to.largest_used.value_or(0), *more.largest_used);
}

}  // namespace ulpscope::comparison::budget
