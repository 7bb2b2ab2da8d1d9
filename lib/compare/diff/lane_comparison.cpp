#include "compare/diff/lane_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "compare/diff/effect.hpp"
#include "compare/diff/explain/replays.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/units.hpp"
#include "compare/model/content.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool holds_ops(const Window& window, std::uint32_t scope) {
  for (std::uint32_t inner = scope + 1; inner < window.end(scope); ++inner)
    if (window.event(inner).kind == EventKind::op) return true;
  return false;
}

[[nodiscard]] std::uint64_t identity(const Lane& lane, const Event& event) {
  KeyHash hash;
  hash.add(lane.id).add(event.op).add(event.overload).add(static_cast<std::uint64_t>(event.phase));
  if (event.has_module) hash.add(event.module).add(event.root);
  return hash.value();
}

}  // namespace

LaneComparison::LaneComparison(RankState& state, const Both<std::optional<Lane>>& lanes, Join join)
    : state_(state),
      walk_(state.runs, state.ranks, lanes, state.mode.only_layers, state.partners.storages,
            state.mode.windows),
      judge_(state),
      boundaries_(state),
      layers_(state),
      neighbours_(state),
      lone_(state, walk_, neighbours_, watch_, layers_),
      join_(std::move(join)) {}

void LaneComparison::begin_steps(const StepsToCompare& steps, ForwardId forward) {
  loss_noted_ = false;
  lone_.begin_step(steps.only.has_value());
  walk_.begin(steps, std::move(forward));
}

void LaneComparison::end_step() {
  const LaneWalk::Effort effort = walk_.take_effort();
  state_.totals.given_up += effort.given_up;
  state_.totals.operations += effort.operations;
  boundaries_.end_step();
  watch_.end_step();
  neighbours_.end_step();
}

bool LaneComparison::comes_to_update() const {
  if (walk_.at_end()) return false;
  const EventPair at = walk_.events_of(walk_.current());
  const Scene scene = walk_.scene();
  const Event& event = at.reference != kNoIndex ? scene.windows.reference->event(at.reference)
                                                : scene.windows.candidate->event(at.candidate);
  return event.phase == Phase::optimizer &&
         (event.kind == EventKind::optimizer || event.kind == EventKind::parameters);
}

bool LaneComparison::advance(const Ensure& ensure) {
  if (walk_.at_end()) return false;
  if (generation_ != walk_.generation()) {
    generation_ = walk_.generation();
    lone_.begin_window();
    neighbours_.begin_window();
  }
  busy_ = true;
  const Entry entry = walk_.current();
  if (ensure || join_) ensure_inputs(entry, ensure);
  const Scene scene = walk_.scene();
  const EventPair at = walk_.events_of(entry);
  count_accumulations(scene, at);
  const auto visit = [&](auto take) {
    for (const Side side : kSides)
      if (const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
          index != kNoIndex)
        take(side, index);
  };
  const AloneMemory::Partner partner = partner_of(entry, scene, at);
  visit([&](Side side, std::uint32_t index) {
    on(state_.memory.alone, side).read(*on(scene.windows, side), index, partner);
  });
  if (entry.aligned()) {
    Coverage& coverage = state_.totals.coverage;
    const std::uint64_t before = coverage.aligned;
    compare_partners(scene, at, scene.windows.reference->items()[entry.reference].op);
    if (entry.moved) coverage.moved += coverage.aligned - before;
  } else {
    lone_.leave(scene, last_position_);
  }
  visit([&](Side side, std::uint32_t index) {
    const Event& event = on(scene.windows, side)->event(index);
    on(state_.program.data_reads, side).passed(event);
    on(state_.program.models, side).passed(event);
  });
  walk_.next();
  busy_ = false;
  return true;
}

void LaneComparison::ensure_inputs(const Entry& entry, const Ensure& ensure) const {
  const EventPair at = walk_.events_of(entry);
  const Scene scene = walk_.scene();
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    for (const Slot& slot : on(scene.windows, side)->event(index).slots)
      if (ensure && slot.role == Role::input && slot.writer != kNone &&
          slot.writer_lane != on(scene.lanes, side)->id)
        ensure(side, slot.writer_lane, slot.writer);
  }
  if (!join_ || !entry.aligned()) return;
  const auto left = scene.windows.reference->event(at.reference).slots;
  const auto right = scene.windows.candidate->event(at.candidate).slots;
  for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k)
    if (left[k].role == Role::input && right[k].role == Role::input)
      join_({left[k].writer_lane, left[k].writer}, {right[k].writer_lane, right[k].writer},
            holds_digest(left[k]) && holds_digest(right[k]) && left[k].digest == right[k].digest);
}

void LaneComparison::count_accumulations(const Scene& scene, EventPair at) {
  const bool alone = at.reference == kNoIndex || at.candidate == kNoIndex;
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    const Window& window = *on(scene.windows, side);
    const Event& event = window.event(index);
    if (event.kind == EventKind::gradient) {
      const bool anew = takes_over_gradient(window, index);
      state_.program.accumulations.add(side, event, anew);
      on(state_.memory.gradients, side).accumulated(*on(scene.lanes, side), event, anew, alone);
    }
    if (event.kind == EventKind::zero_grad)
      on(state_.memory.gradients, side).reset(*on(scene.lanes, side));
    if (event.kind == EventKind::zero_grad || event.kind == EventKind::optimizer)
      state_.program.last_options.used(side, *on(scene.lanes, side), event);
    if (zeroes_gradient(event)) {
      state_.program.accumulations.zero(side, event);
      on(state_.memory.gradients, side).zeroed(event);
    }
  }
}

Judgement LaneComparison::judge(const Scene& scene, EventPair at, bool op) {
  if (state_.mode.only_layers) return layers_.judge(scene, at);
  if (op) {
    const Judgement judgement = judge_.judge(scene, at);
    boundaries_.op_passed();
    return judgement;
  }
  if (is_boundary(scene.windows.reference->event(at.reference).kind))
    return boundaries_.judge(scene, at);
  return holds_ops(*scene.windows.reference, at.reference) ? judge_.judge_scope(scene, at)
                                                           : judge_.judge(scene, at);
}

AloneMemory::Partner LaneComparison::partner_of(const Entry& entry, const Scene& scene,
                                                EventPair at) const {
  using Partner = AloneMemory::Partner;
  if (!entry.aligned()) return Partner::none;
  const bool any_alone = state_.memory.alone.reference.any() || state_.memory.alone.candidate.any();
  if (!any_alone || input_key(scene.windows.reference->event(at.reference)) ==
                        input_key(scene.windows.candidate->event(at.candidate)))
    return Partner::given_the_same;
  return state_.book.diverges() ? Partner::diverged_before : Partner::given_others;
}

void LaneComparison::compare_partners(const Scene& scene, EventPair at, bool op) {
  const Event& reference = scene.windows.reference->event(at.reference);
  const Event& candidate = scene.windows.candidate->event(at.candidate);
  Totals& totals = state_.totals;
  last_position_ = reference.position;
  if (is_unit(state_, reference)) {
    ++totals.ops.reference;
    ++totals.ops.candidate;
    ++totals.aligned_ops;
  }
  if (is_ignored(state_, reference) || is_ignored(state_, candidate)) {
    totals.coverage.not_compared.ignored += reference.slots.size();
    totals.coverage.aligned += 1;
    return;
  }
  if (reference.kind == EventKind::optimizer) state_.program.last_options.passed(state_, scene, at);
  if (reference.kind == EventKind::node && !loss_noted_) note_loss(scene, at);
  if (!is_unit(state_, reference) && reference.slots.empty() && candidate.slots.empty()) {
    ++totals.coverage.aligned;
    watch_.passed(state_.book, false, is_anchor(reference), {});
    return;
  }
  const std::size_t records = state_.book.records().size();
  const Judgement judgement = judge(scene, at, op);
  watch_.passed(state_.book, op, is_anchor(reference), judgement,
                [&](Record& record) { keep_effect(record, scene, at); });
  if (judgement.pending) watch_.add(*judgement.pending, walk_, walk_.cursor() + 1);
  if (!is_unit(state_, reference)) return;
  lone_.passed(reference);
  if (judgement.outcome != Judged::equal) note_path(scene, at);
  const std::uint64_t occurrence =
      state_.program.history.occurrence(identity(*scene.lanes.reference, reference), scene.step);
  add_history(reference, occurrence, records);
  if (judgement.outcome == Judged::equal)
    state_.program.history.equal(occurrence, scene.step);
  else
    state_.program.history.differs(occurrence);
  neighbours_.pass(scene, at, judgement.outcome, records);
}

/// How far apart the first unequal result of an op is, after the first difference.
void LaneComparison::note_path(const Scene& scene, EventPair at) {
  const Event& event = scene.windows.reference->event(at.reference);
  if (!state_.judge.follows_path(event.phase)) return;
  std::vector<SlotPair> slots;
  compare_slots(event, scene.windows.candidate->event(at.candidate), slots);
  const auto unequal = std::find_if(slots.begin(), slots.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && slot.match == Match::differs;
  });
  if (unequal == slots.end()) return;
  const ModuleName module = module_of(scene, Side::reference, at.reference);
  PathPoint point;
  point.event = event.position;
  point.op = event.op;
  if (module.known) point.module = module.path.empty() ? module.root : module.path;
  state_.judge.on_the_way(scene.runs, scene.ranks, *unequal->reference, *unequal->candidate,
                          std::move(point));
}

/// Backward begins at the loss: what the forward op of its first node gave.
void LaneComparison::note_loss(const Scene& scene, EventPair node) {
  loss_noted_ = true;
  const HeldEvent reference = forward_of(scene, Side::reference, node.reference);
  const HeldEvent candidate = forward_of(scene, Side::candidate, node.candidate);
  if (reference.event == nullptr || candidate.event == nullptr) return;
  const auto result = [](const Event& event) {
    return std::find_if(event.slots.begin(), event.slots.end(),
                        [](const Slot& slot) { return slot.role == Role::output; });
  };
  const auto left = result(*reference.event);
  const auto right = result(*candidate.event);
  if (left == reference.event->slots.end() || right == candidate.event->slots.end()) return;
  state_.judge.loss(state_.runs, state_.ranks, *left, *right);
  if (is_difference(match(*left, *right))) state_.memory.absorption.leave(&*left, &*right, {});
}

void LaneComparison::add_history(const Event& event, std::uint64_t occurrence,
                                 std::size_t new_records) {
  auto& records = state_.book.records();
  const History::Past* past = state_.program.history.past(occurrence);
  if (new_records == records.size() || past == nullptr || past->broken || past->first == kSetup)
    return;
  const auto words =
      past->steps == static_cast<std::uint64_t>(past->last - past->first) + 1
          ? steps_words({{past->first, past->last}})
          : fmt::format("{} steps between {} and {}", past->steps, past->first, past->last);
  for (std::size_t k = new_records; k < records.size(); ++k) {
    Record& record = records[k];
    const FindingKind kind = record.finding.kind;
    if (!record.listed ||
        (kind != FindingKind::origin && kind != FindingKind::arguments && kind != FindingKind::rng))
      continue;
    record.finding.notes.push_back(
        record.finding.op == event.op
            ? fmt::format("this op gave identical results in {}", words)
            : fmt::format("{} around it gave identical results in {}", event.op, words));
  }
}

bool LaneComparison::report_missing_steps(Side side, std::int64_t step,
                                          std::int64_t candidate_step) {
  walk_.preview(side, step, candidate_step);
  for (; !walk_.at_end(); walk_.next()) {
    const Scene scene = walk_.scene();
    const EventPair at = walk_.events_of(walk_.current());
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    const Event& event = on(scene.windows, side)->event(index);
    if (!is_unit(state_, event)) continue;
    (void)enter_alone(state_, FindingKind::sequence, scene, at,
                      side == Side::reference ? std::optional(event.position) : last_position_,
                      {.harmless = true}, [&](Record& record) {
                        record.evidence.missing_steps = true;
                        record.finding.diverges = false;
                        record.finding.goes_on = true;
                        record.finding.notes.push_back(
                            fmt::format("the {} goes on where the other run ends", name(side)));
                      });
    return true;
  }
  return false;
}

}  // namespace ulpscope::comparison
