#include "compare/diff/explain/replays.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/results.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/measure/budget/replay_judge.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool has_16_bits(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.geometry != nullptr &&
           (slot.geometry->dtype == Dtype::bfloat16 || slot.geometry->dtype == Dtype::float16);
  });
}

/// Under autocast an op casts its operands and calls itself again, or calls others that do so: its
/// actual inputs are read by the inner ones.
[[nodiscard]] bool casts_inside(const Window& window, std::uint32_t event) {
  const Event& outer = window.event(event);
  if ((outer.flags & event_flag::autocast) == 0) return false;
  const bool may_narrow = !has_16_bits(outer);
  for (std::uint32_t inner = event + 1; inner < window.end(event); ++inner)
    if (window.event(inner).op == outer.op || (may_narrow && has_16_bits(window.event(inner))))
      return true;
  return false;
}

[[nodiscard]] std::string own_words(const Both<bool>& outside, bool alone) {
  if (alone)
    return fmt::format(
        "only the {} computes it by this op; replayed in float64 on its own inputs: rounding "
        "does not explain its result",
        outside.reference ? "reference" : "candidate");
  const std::string_view judgement =
      outside.reference && outside.candidate
          ? "rounding explains neither run's result"
          : (outside.reference ? "rounding explains the candidate's result, not the reference's"
                               : "rounding explains the reference's result, not the candidate's");
  return fmt::format("replayed in float64 on each run's own inputs: {}", judgement);
}

/// "output 0 takes 17.3 times what 2345 ULP allow: sum of 64 float32 products".
[[nodiscard]] std::string words(const budget::Judged::Result& result) {
  const Budget& budget = result.budget;
  std::string words = fmt::format("{} {}", name(result.role), result.index);
  if (result.element > 0) words += fmt::format(" [{}]", result.element);
  words +=
      budget.used ? fmt::format(" takes {:.3g} times", *budget.used) : std::string(" is beyond");
  return words + fmt::format(" what {:.0f} ULP allow: {}", budget.ulp, budget.why);
}

void enter_replay(OpPair& ops, EventPair at, const budget::ReplayJudged& replay) {
  ReplaySummary& sum = ops.state.totals.replay;
  ++(replay.outside() ? sum.outside : sum.inside);
  if (!replay.outside()) {
    budget::add(ops.state.totals.op_budgets, ops.scene.windows.reference->event(at.reference).op,
                replay.judged);
    return;
  }
  const Source source = enter_finding(
      ops.state, FindingKind::origin, ops.scene, at, ops.at,
      {.key = KeyHash().add("replayed").value()}, [&](Record& record) {
        add_tensors(record, ops.inner_slots);
        add_budgets(record, replay.judged);
        enter_own(record, replay);
        record.finding.notes.emplace_back(
            "what it reads differs already, which does not explain how far its results are apart");
      });
  add_budget(ops.state, source, replay.judged);
}

[[nodiscard]] bool leaves_other(OpPair& ops, EventPair at) {
  const Event& reference = ops.scene.windows.reference->event(at.reference);
  compare_slots(reference, ops.scene.windows.candidate->event(at.candidate), ops.inner_slots);
  return reference.kind == EventKind::op &&
         std::any_of(ops.inner_slots.begin(), ops.inner_slots.end(), budget::may_differ);
}

/// Whether what an op left and what differs was there before: left by an op inside of it. From now
/// on it is.
bool account_for(OpPair& ops, EventPair at) {
  bool known = true;
  compare_slots(ops.scene.windows.reference->event(at.reference),
                ops.scene.windows.candidate->event(at.candidate), ops.inner_slots);
  for (const SlotPair& slot : ops.inner_slots) {
    if (slot.candidate == nullptr || !budget::may_differ(slot) ||
        (slot.candidate->flags & slot_flag::no_digest) != 0)
      continue;
    known = !ops.lane.accounted.insert(slot.candidate->digest).second && known;
  }
  return known;
}

/// Judges the op at `k` and what it calls, and returns the place after that. An op that cannot be
/// judged itself is left to those that it calls, which may also differ where its results do not:
/// what it saved for backward. Each of its results must be one of theirs, or it is counted as
/// unjudged.
std::size_t judge_replay(OpPair& ops, const std::vector<EventPair>& pairs, std::size_t k) {
  const Window& window = *ops.scene.windows.reference;
  const EventPair at = pairs[k];
  const Event& reference = window.event(at.reference);
  const Event& candidate = ops.scene.windows.candidate->event(at.candidate);
  std::size_t next = k + 1;
  while (next < pairs.size() && pairs[next].reference < window.end(at.reference)) ++next;
  if (reference.kind == EventKind::op && (reference.flags & event_flag::factory) != 0) return next;

  std::string failure = budget::unknown_model(reference.op);
  const bool casts = casts_inside(window, at.reference) ||
                     casts_inside(*ops.scene.windows.candidate, at.candidate);
  if (leaves_other(ops, at) && budget::has_model(ops.scene, at) && !casts) {
    compare_slots(reference, candidate, ops.inner_slots);
    const budget::ReplayJudged replay =
        budget::judge_replayed(*ops.state.options.replayer, ops.scene, at, ops.inner_slots);
    if (replay.failure.empty()) {
      enter_replay(ops, at, replay);
      account_for(ops, at);
      return next;
    }
    failure = fmt::format("{}: {}", reference.op, replay.failure);
  }
  for (std::size_t inner = k + 1; inner < next;) inner = judge_replay(ops, pairs, inner);
  if (reference.kind == EventKind::op && !account_for(ops, at))
    budget::add_unjudged(ops.state.totals.replay, failure);
  return next;
}

}  // namespace

void enter_own(Record& record, const budget::ReplayJudged& replay) {
  record.evidence.own_outside = replay.own_outside;
  record.evidence.operands = replay.operands;
  const bool alone = !record.finding.event.reference || !record.finding.event.candidate;
  if (replay.outside()) record.finding.notes.push_back(own_words(replay.own_outside, alone));
}

void explain_replays(OpPair& ops) {
  if (!ops.state.options.budget || ops.state.options.replayer == nullptr || !ops.inputs_differ ||
      ops.event(Side::reference).kind != EventKind::op)
    return;
  std::vector<EventPair> pairs{ops.at};
  pairs.insert(pairs.end(), ops.inside.pairs().begin(), ops.inside.pairs().end());
  ops.lane.accounted.clear();
  judge_replay(ops, pairs, 0);
}

void judge_alone(RankState& state, const Scene& scene, Side side, std::uint32_t index,
                 std::optional<std::uint64_t> after, std::size_t depth) {
  constexpr std::size_t kDeepestReplay = 64;
  if (!state.options.budget || state.options.replayer == nullptr) return;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(index);
  constexpr std::uint32_t kMakesNothing = event_flag::factory | event_flag::view;
  if (event.kind != EventKind::op || (event.flags & kMakesNothing) != 0) return;
  const budget::ReplayJudged replay =
      budget::judge_alone(*state.options.replayer, scene, side, index);
  if (!replay.failure.empty()) {
    std::vector<std::uint32_t> inner;
    if (depth < kDeepestReplay) window.inner_ops(index, inner);
    for (const std::uint32_t op : inner) judge_alone(state, scene, side, op, after, depth + 1);
    // What returns a number, or the memory that it was given, has computed nothing to be judged.
    if (inner.empty() && std::any_of(event.slots.begin(), event.slots.end(), writes))
      budget::add_unjudged(state.totals.replay, fmt::format("{}: {}", event.op, replay.failure));
    return;
  }
  ReplaySummary& sum = state.totals.replay;
  ++(replay.outside() ? sum.outside : sum.inside);
  if (!replay.outside()) {
    budget::add(state.totals.op_budgets, event.op, replay.judged);
    return;
  }
  const EventPair at =
      side == Side::reference ? EventPair{index, kNoIndex} : EventPair{kNoIndex, index};
  const Source source =
      enter_alone(state, FindingKind::origin, scene, at,
                  side == Side::reference ? std::optional(event.position) : after,
                  {.key = KeyHash().add("replayed").value()}, [&](Record& record) {
                    enter_own(record, replay);
                    for (const budget::Judged::Result& result : replay.judged.results)
                      if (!result.budget.inside) record.finding.notes.push_back(words(result));
                  });
  add_budget(state, source, replay.judged);
}

budget::ReplayJudged judge_own(const OpPair& ops, EventPair at, const std::vector<SlotPair>& slots,
                               budget::Judged& judged) {
  if (judged.summary.outside == 0 || ops.state.options.replayer == nullptr ||
      !budget::has_model(ops.scene, at))
    return {};
  budget::ReplayJudged replay =
      budget::judge_replayed(*ops.state.options.replayer, ops.scene, at, slots);
  BudgetSummary& sum = judged.summary;
  for (budget::Judged::Result& result : judged.results) {
    for (const budget::Judged::Result& own : replay.judged.results) {
      if (own.role != result.role || own.index != result.index || own.element != result.element)
        continue;
      result.budget.own = own.budget.own;
      if (result.budget.inside || !own.budget.inside) continue;
      // Each run's result is right for the inputs that it had.
      result.budget = own.budget;
      --sum.outside;
      ++sum.inside;
    }
  }
  sum.largest_used.reset();
  for (const budget::Judged::Result& result : judged.results)
    if (result.budget.used)
      sum.largest_used = std::max(sum.largest_used.value_or(0), *result.budget.used);
  return replay;
}

}  // namespace ulpscope::comparison
