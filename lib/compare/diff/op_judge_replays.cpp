#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compare/diff/op_judge.hpp"
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

}  // namespace

void OpJudge::enter_own(Record& record, const budget::ReplayJudged& replay) {
  record.evidence.own_outside = replay.own_outside;
  record.evidence.operands = replay.operands;
  const bool alone = !record.finding.event.reference || !record.finding.event.candidate;
  if (replay.outside()) record.finding.notes.push_back(own_words(replay.own_outside, alone));
}

/// An op's inputs differed before it. What it computes from them is its own: the outermost op that
/// has an error model is replayed.
void OpJudge::judge_replays() {
  if (!state_.options.budget || state_.options.replayer == nullptr || !inputs_differ_ ||
      event(Side::reference).kind != EventKind::op)
    return;
  std::vector<EventPair> pairs{at_};
  pairs.insert(pairs.end(), inside_.pairs().begin(), inside_.pairs().end());
  accounted_.clear();
  judge_replay(pairs, 0);
}

/// Judges the op at `k` and what it calls, and returns the place after that. An op that cannot be
/// judged itself is left to those that it calls, which may also differ where its results do not:
/// what it saved for backward. Each of its results must be one of theirs, or it is counted as
/// unjudged.
std::size_t OpJudge::judge_replay(const std::vector<EventPair>& pairs, std::size_t k) {
  const Window& window = *scene_.windows.reference;
  const EventPair at = pairs[k];
  const Event& reference = window.event(at.reference);
  const Event& candidate = scene_.windows.candidate->event(at.candidate);
  std::size_t next = k + 1;
  while (next < pairs.size() && pairs[next].reference < window.end(at.reference)) ++next;
  if (reference.kind == EventKind::op && (reference.flags & event_flag::factory) != 0) return next;

  std::string failure = budget::unknown_model(reference.op);
  const bool casts =
      casts_inside(window, at.reference) || casts_inside(*scene_.windows.candidate, at.candidate);
  if (leaves_other(at) && budget::has_model(scene_, at) && !casts) {
    compare_slots(reference, candidate, inner_slots_);
    const budget::ReplayJudged replay =
        budget::judge_replayed(*state_.options.replayer, scene_, at, inner_slots_);
    if (replay.failure.empty()) {
      enter_replay(at, replay);
      account_for(at);
      return next;
    }
    failure = fmt::format("{}: {}", reference.op, replay.failure);
  }
  for (std::size_t inner = k + 1; inner < next;) inner = judge_replay(pairs, inner);
  if (reference.kind == EventKind::op && !account_for(at))
    budget::add_unjudged(state_.totals.replay, failure);
  return next;
}

void OpJudge::judge_alone(const Scene& scene, Side side, std::uint32_t index,
                          std::optional<std::uint64_t> after, std::size_t depth) {
  constexpr std::size_t kDeepestReplay = 64;
  if (!state_.options.budget || state_.options.replayer == nullptr) return;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(index);
  constexpr std::uint32_t kMakesNothing = event_flag::factory | event_flag::view;
  if (event.kind != EventKind::op || (event.flags & kMakesNothing) != 0) return;
  const budget::ReplayJudged replay =
      budget::judge_alone(*state_.options.replayer, scene, side, index);
  if (!replay.failure.empty()) {
    std::vector<std::uint32_t> inner;
    if (depth < kDeepestReplay) window.inner_ops(index, inner);
    for (const std::uint32_t op : inner) judge_alone(scene, side, op, after, depth + 1);
    if (inner.empty())
      budget::add_unjudged(state_.totals.replay, fmt::format("{}: {}", event.op, replay.failure));
    return;
  }
  ReplaySummary& sum = state_.totals.replay;
  ++(replay.outside() ? sum.outside : sum.inside);
  if (!replay.outside()) {
    budget::add(state_.totals.op_budgets, event.op, replay.judged);
    return;
  }
  const EventPair at =
      side == Side::reference ? EventPair{index, kNoIndex} : EventPair{kNoIndex, index};
  const Source source =
      enter_alone(state_, FindingKind::origin, scene, at,
                  side == Side::reference ? std::optional(event.position) : after,
                  {.key = KeyHash().add("replayed").value()}, [&](Record& record) {
                    enter_own(record, replay);
                    for (const budget::Judged::Result& result : replay.judged.results)
                      if (!result.budget.inside) record.finding.notes.push_back(words(result));
                  });
  add_budget(source, replay.judged);
}

bool OpJudge::leaves_other(EventPair at) {
  const Event& reference = scene_.windows.reference->event(at.reference);
  compare_slots(reference, scene_.windows.candidate->event(at.candidate), inner_slots_);
  return reference.kind == EventKind::op &&
         std::any_of(inner_slots_.begin(), inner_slots_.end(), budget::may_differ);
}

/// Whether what an op left and what differs was there before: left by an op inside of it. From now
/// on it is.
bool OpJudge::account_for(EventPair at) {
  bool known = true;
  compare_slots(scene_.windows.reference->event(at.reference),
                scene_.windows.candidate->event(at.candidate), inner_slots_);
  for (const SlotPair& slot : inner_slots_) {
    if (slot.candidate == nullptr || !budget::may_differ(slot) ||
        (slot.candidate->flags & slot_flag::no_digest) != 0)
      continue;
    known = !accounted_.insert(slot.candidate->digest).second && known;
  }
  return known;
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
        add_budgets(record, replay.judged);
        enter_own(record, replay);
        record.finding.notes.emplace_back(
            "what it reads differs already, which does not explain how far its results are apart");
      });
  add_budget(source, replay.judged);
}

/// Which run an origin outside of its budget is wrong in: the op replayed.
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
