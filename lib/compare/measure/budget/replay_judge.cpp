#include "compare/measure/budget/replay_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compare/measure/budget/models.hpp"
#include "compare/measure/budget/op_view.hpp"
#include "compare/measure/budget/replayed.hpp"

namespace ulpscope::comparison::budget {
namespace {

[[nodiscard]] const Event& event_of(const Scene& scene, Side side, EventPair at) {
  return on(scene.windows, side)->event(side == Side::reference ? at.reference : at.candidate);
}

[[nodiscard]] Replayed replay(Replayer& replayer, const Scene& scene, Side side, EventPair at,
                              Model model, Operands operands = Operands::recorded) {
  return replayed(replayer, *on(scene.runs, side), on(scene.ranks, side), event_of(scene, side, at),
                  model, operands);
}

[[nodiscard]] const Replayed::Result* find(const Replayed& replayed, const SlotPair& slot) {
  const Slot& wanted = slot.any();
  for (const Replayed::Result& result : replayed.results)
    if (result.role == wanted.role && result.index == wanted.index &&
        result.element == wanted.element)
      return &result;
  return nullptr;
}

[[nodiscard]] Budget of_one_run(const Replayed::Result& result) {
  Budget budget;
  budget.ulp = std::round(std::max(result.allowance.relative, result.allowance.absolute));
  budget.why = result.allowance.why;
  budget.inside = result.inside;
  budget.used = result.used;
  return budget;
}

[[nodiscard]] Budget joined(const Replayed::Result& reference, const Replayed::Result& candidate) {
  Budget budget = of_one_run(candidate);
  budget.inside = reference.inside && candidate.inside;
  budget.used.reset();
  if (reference.used && candidate.used) budget.used = std::max(*reference.used, *candidate.used);
  budget.own = {OwnBudget{reference.inside, reference.used},
                OwnBudget{candidate.inside, candidate.used}};
  return budget;
}

/// The rounding of operands that brings one run's results inside of their budgets.
[[nodiscard]] std::string explaining_operands(Replayer& replayer, const Scene& scene, Side side,
                                              EventPair at, Model model) {
  static constexpr std::array kTried{Operands::tf32, Operands::tf32_cut, Operands::bfloat16,
                                     Operands::float16};
  if (!multiplies(facts::Op(event_of(scene, side, at).op).row().error_model())) return {};
  for (const Operands operands : kTried) {
    const Replayed again = replay(replayer, scene, side, at, model, operands);
    if (again.failure.empty() && again.inside()) return std::string(name(operands));
  }
  return {};
}

}  // namespace

std::string unknown_model(std::string_view op) {
  return fmt::format("no error budget is known for {}", op);
}

bool has_model(const Scene& scene, EventPair at) {
  const auto model = [&](Side side) { return model_of(facts::Op(event_of(scene, side, at).op)); };
  return model(Side::reference) != nullptr && model(Side::candidate) != nullptr;
}

ReplayJudged judge_replayed(Replayer& replayer, const Scene& scene, EventPair at,
                            const std::vector<SlotPair>& slots) {
  ReplayJudged answer;
  Both<Model> models;
  Both<Replayed> results;
  for (const Side side : kSides) {
    on(models, side) = model_of(facts::Op(event_of(scene, side, at).op));
    on(results, side) = replay(replayer, scene, side, at, on(models, side));
    answer.failure = on(results, side).failure;
    if (!answer.failure.empty()) return answer;
  }
  BudgetSummary& sum = answer.judged.summary;
  for (const SlotPair& slot : slots) {
    if (!may_differ(slot)) continue;
    const auto* reference = find(results.reference, slot);
    const auto* candidate = find(results.candidate, slot);
    if (reference == nullptr || candidate == nullptr) continue;
    const Budget budget = joined(*reference, *candidate);
    ++(budget.inside ? sum.inside : sum.outside);
    if (budget.used) sum.largest_used = std::max(sum.largest_used.value_or(0), *budget.used);
    answer.judged.results.push_back({slot.role(), slot.any().index, slot.any().element, budget});
  }
  if (answer.judged.results.empty()) answer.failure = "it left nothing that can be judged";
  if (!answer.outside()) return answer;
  for (const Side side : kSides) {
    on(answer.own_outside, side) = !on(results, side).inside();
    if (on(answer.own_outside, side))
      on(answer.operands, side) = explaining_operands(replayer, scene, side, at, on(models, side));
  }
  return answer;
}

ReplayJudged judge_alone(Replayer& replayer, const Scene& scene, Side side, std::uint32_t event) {
  ReplayJudged answer;
  const EventPair at =
      side == Side::reference ? EventPair{event, kNoIndex} : EventPair{kNoIndex, event};
  const Event& op = event_of(scene, side, at);
  const Model model = model_of(facts::Op(op.op));
  if (model == nullptr) {
    answer.failure = unknown_model(op.op);
    return answer;
  }
  const Replayed found = replay(replayer, scene, side, at, model);
  answer.failure = found.failure;
  BudgetSummary& sum = answer.judged.summary;
  for (const Replayed::Result& result : found.results) {
    const Budget budget = of_one_run(result);
    ++(budget.inside ? sum.inside : sum.outside);
    if (budget.used) sum.largest_used = std::max(sum.largest_used.value_or(0), *budget.used);
    answer.judged.results.push_back({result.role, result.index, result.element, budget});
  }
  on(answer.own_outside, side) = answer.outside();
  if (answer.outside())
    on(answer.operands, side) = explaining_operands(replayer, scene, side, at, model);
  return answer;
}

void add(std::vector<OpBudget>& to, std::string_view op, const Judged& judged) {
  if (judged.results.empty()) return;
  auto row = std::find_if(to.begin(), to.end(), [&](const OpBudget& one) { return one.op == op; });
  if (row == to.end()) row = to.insert(to.end(), {std::string(op), 0, 0, std::nullopt, {}});
  for (const Judged::Result& result : judged.results) {
    ++row->results;
    if (!result.budget.inside) ++row->outside;
    const double used = result.budget.used.value_or(0);
    if (row->why.empty() || used > row->largest_used.value_or(0)) row->why = result.budget.why;
    if (result.budget.used) row->largest_used = std::max(row->largest_used.value_or(0), used);
  }
}

void add(std::vector<OpBudget>& to, const std::vector<OpBudget>& more) {
  for (const OpBudget& one : more) {
    const auto row = std::find_if(to.begin(), to.end(),
                                  [&](const OpBudget& known) { return known.op == one.op; });
    if (row == to.end()) {
      to.push_back(one);
      continue;
    }
    row->results += one.results;
    row->outside += one.outside;
    if (one.largest_used && *one.largest_used > row->largest_used.value_or(0)) {
      row->largest_used = one.largest_used;
      row->why = one.why;
    }
  }
}

void add(ReplaySummary& to, const ReplaySummary& more) {
  to.inside += more.inside;
  to.outside += more.outside;
  for (const auto& [reason, times] : more.reasons) add_unjudged(to, reason, times);
}

void add_unjudged(ReplaySummary& to, const std::string& reason, std::uint64_t times) {
  constexpr std::size_t kMostReasons = 32;
  to.unjudged += times;
  const auto known = std::find_if(to.reasons.begin(), to.reasons.end(),
                                  [&](const auto& entry) { return entry.first == reason; });
  if (known != to.reasons.end())
    known->second += times;
  else if (to.reasons.size() < kMostReasons)
    to.reasons.emplace_back(reason, times);
}

}  // namespace ulpscope::comparison::budget
