#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compare/budget/replay_judge.hpp"
#include "compare/hash.hpp"
#include "compare/op_judge.hpp"

namespace ulpscope::comparison {
namespace {

/// Under autocast an op casts its operands and calls itself again: what it computes on is read by
/// the inner one.
[[nodiscard]] bool casts_operands(const Event& event) {
  if ((event.flags & event_flag::autocast) == 0) return false;
  std::optional<Dtype> seen;
  for (const Slot& slot : event.slots) {
    if (slot.geometry == nullptr || !is_floating_point(slot.geometry->dtype)) continue;
    if (seen && *seen != slot.geometry->dtype) return true;
    seen = slot.geometry->dtype;
  }
  return false;
}

[[nodiscard]] bool calls_ops(const Window& window, std::uint32_t event) {
  return window.end(event) > event + 1;
}

[[nodiscard]] std::string own_words(const Both<bool>& outside) {
  const std::string_view judgement =
      outside.reference && outside.candidate
          ? "rounding explains neither run's result"
          : (outside.reference ? "rounding explains the candidate's result, not the reference's"
                               : "rounding explains the reference's result, not the candidate's");
  return fmt::format("executed again in float64 on each run's own inputs: {}", judgement);
}

}  // namespace

void OpJudge::enter_own(Record& record, const budget::ReplayJudged& replay) {
  record.evidence.own_outside = replay.own_outside;
  record.evidence.operands = replay.operands;
  if (replay.outside()) record.finding.notes.push_back(own_words(replay.own_outside));
}

/// What an op read differed before it. What it made of that is its own: it is executed again, the
/// outermost op that an error model is known for.
void OpJudge::judge_replays() {
  if (!state_.options.budget || state_.options.replayer == nullptr || !inputs_differ_ ||
      event(Side::reference).kind != EventKind::op)
    return;
  judge_replay(at_);
  std::uint32_t done = replay_end_;
  for (const EventPair& pair : inside_.pairs()) {
    if (pair.reference < done) continue;
    judge_replay(pair);
    done = replay_end_;
  }
}

/// Judges one op, if it left something other; replay_end_ is where its judgement ends: behind what
/// it calls, or behind itself where that has to be judged instead.
void OpJudge::judge_replay(EventPair at) {
  const Window& window = *scene_.windows.reference;
  const Event& reference = window.event(at.reference);
  replay_end_ = window.end(at.reference);
  if (reference.kind != EventKind::op || (reference.flags & event_flag::factory) != 0) return;
  compare_slots(reference, scene_.windows.candidate->event(at.candidate), inner_slots_);
  if (std::none_of(inner_slots_.begin(), inner_slots_.end(), [](const SlotPair& slot) {
        return slot.role() != Role::input && is_difference(slot.match);
      }))
    return;
  const bool leaf = !calls_ops(window, at.reference);
  std::string failure = fmt::format("no error budget is known for {}", reference.op);
  const bool casts =
      casts_operands(reference) || casts_operands(scene_.windows.candidate->event(at.candidate));
  if (budget::has_model(scene_, at) && (leaf || !casts)) {
    budget::ReplayJudged replay =
        budget::judge_replayed(*state_.options.replayer, scene_, at, inner_slots_);
    if (replay.failure.empty()) return enter_replay(at, replay);
    failure = fmt::format("{}: {}", reference.op, replay.failure);
  }
  if (leaf)
    budget::add_unjudged(state_.totals.replay, failure);
  else
    replay_end_ = at.reference + 1;
}

void OpJudge::enter_replay(EventPair at, const budget::ReplayJudged& replay) {
  ReplaySummary& sum = state_.totals.replay;
  ++(replay.outside() ? sum.outside : sum.inside);
  if (!replay.outside()) {
    budget::add(state_.totals.op_budgets, scene_.windows.reference->event(at.reference).op,
                replay.judged);
    return;
  }
  const Source source = enter_finding(
      state_, FindingKind::origin, scene_, at, at_, {.key = KeyHash().add("replayed").value()},
      [&](Record& record) {
        add_tensors(record, inner_slots_);
        replay.judged.enter(record);
        enter_own(record, replay);
        record.finding.notes.emplace_back(
            "what it reads differs already, which does not explain how far its results are apart");
      });
  add_budget(source, replay.judged);
}

/// Which run an origin outside of its budget is wrong in: the op executed again.
budget::ReplayJudged OpJudge::judge_own(EventPair at, const std::vector<SlotPair>& slots,
                                        budget::Judged& judged) const {
  if (judged.summary.outside == 0 || state_.options.replayer == nullptr ||
      !budget::has_model(scene_, at))
    return {};
  budget::ReplayJudged replay = budget::judge_replayed(*state_.options.replayer, scene_, at, slots);
  for (budget::Judged::Result& result : judged.results)
    for (const budget::Judged::Result& own : replay.judged.results)
      if (own.role == result.role && own.index == result.index && own.element == result.element)
        result.budget.own = own.budget.own;
  return replay;
}

}  // namespace ulpscope::comparison
