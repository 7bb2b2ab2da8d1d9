#include "compare/diff/judgement.hpp"

#include "compare/diff/finding_writer.hpp"
#include "compare/measure/value_names.hpp"

namespace ulpscope::comparison {
namespace {

/// The content of this memory was compared where it was written, in both runs.
[[nodiscard]] bool judged_where_written(RankState& state, const Scene& scene,
                                        const SlotPair& slot) {
  if (slot.role() != Role::input) return false;
  const auto left = state.ledger.memory.reference.find(*slot.reference, scene.step);
  const auto right = state.ledger.memory.candidate.find(*slot.candidate, scene.step);
  return left && right && !left->written_alone && !right->written_alone;
}

/// Made where the program prepares its data, or outside of recorded ops. How many rows a value
/// inside a model has may follow from what the model computes (a routing).
[[nodiscard]] bool is_prepared(const Scene& scene, EventPair at, const SlotPair& slot) {
  const auto for_data = [](Phase phase) { return phase == Phase::data || phase == Phase::setup; };
  const Event& event = scene.windows.reference->event(at.reference);
  if (!event.has_module && for_data(event.phase)) return true;
  if (slot.role() != Role::input || either(slot, slot_flag::parameter)) return false;
  if (either(slot, slot_flag::unproduced)) return true;
  const auto written = phase_of_last_write(scene, Side::reference, *slot.reference);
  return written && for_data(*written);
}

}  // namespace

void judge_tolerance(RankState& state, const Scene& scene, EventPair at, const SlotPair& slot) {
  NamesOf names = [&] { return names_of(scene, at, slot); };
  const bool judged = state.options.budget || (state.judge.tolerance().has_rules() &&
                                               judged_where_written(state, scene, slot));
  if (judged) names = {};
  state.judge.differs(scene.runs, scene.ranks, *slot.reference, *slot.candidate, names);
}

void count_values(RankState& state, const Scene& scene, EventPair at,
                  const std::vector<SlotPair>& slots, Judgement& judgement) {
  NotCompared& aside = state.totals.coverage.not_compared;
  for (const SlotPair& slot : slots) {
    if (was_compared(slot.match)) ++judgement.compared;
    judgement.differs = judgement.differs || is_difference(slot.match);
    if (slot.match == Match::uninitialised) ++aside.uninitialised;
    if (slot.match == Match::handle) ++aside.handle;
    if (slot.match == Match::opaque) ++aside.opaque;
    if (slot.match == Match::layout) ++aside.layout;
    if (slot.role() == Role::input) {
      for (const Side side : kSides) {
        const Slot* one = side == Side::reference ? slot.reference : slot.candidate;
        if (one == nullptr || !was_compared(slot.match)) continue;
        ++on(state.totals.reads, side);
        if (one->flags & slot_flag::verified) ++on(state.totals.verified, side);
      }
    }
    if (slot.match == Match::metadata && !state.totals.evidence.other_batch &&
        is_other_batch(slot.reference->geometry->sizes, slot.candidate->geometry->sizes) &&
        is_prepared(scene, at, slot))
      state.totals.evidence.other_batch = true;
    if (slot.match == Match::differs)
      judge_tolerance(state, scene, at, slot);
    else if (is_difference(slot.match))
      state.judge.differs_beyond_tolerance();
  }
  state.totals.values += judgement.compared;
}

void count_event(RankState& state, const Scene& scene, const Judgement& judgement) {
  ++state.totals.coverage.aligned;
  if (judgement.outcome != Judged::propagated) return;
  ++state.totals.propagated.events;
  if (scene.step != kSetup) add_step(state.totals.propagated.steps, scene.step);
}

}  // namespace ulpscope::comparison
