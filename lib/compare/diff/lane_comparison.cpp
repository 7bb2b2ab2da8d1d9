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
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool holds_ops(const Window& window, std::uint32_t scope) {
  for (std::uint32_t inner = scope + 1; inner < window.end(scope); ++inner)
    if (window.event(inner).kind == EventKind::op) return true;
  return false;
}

[[nodiscard]] std::uint64_t identity(const Event& event) {
  KeyHash hash;
  hash.add(event.op).add(event.overload).add(static_cast<std::uint64_t>(event.phase));
  if (event.has_module) hash.add(event.module).add(event.root);
  return hash.value();
}

}  // namespace

LaneComparison::LaneComparison(RankState& state, const Both<std::optional<Lane>>& lanes, Join join)
    : state_(state),
      walk_(state.runs, state.ranks, lanes, state.only_layers, state.windows),
      judge_(state),
      boundaries_(state),
      layers_(state),
      neighbours_(state),
      join_(std::move(join)) {}

void LaneComparison::begin_step(std::int64_t step, std::int64_t candidate_step, ForwardId forward,
                                std::optional<Side> only) {
  loss_noted_ = false;
  step_alone_ = only.has_value();
  walk_.begin(step, candidate_step, std::move(forward), only);
}

void LaneComparison::end_step() {
  state_.totals.given_up += walk_.take_given_up();
  state_.totals.operations += walk_.take_operations();
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
    alone_until_ = 0;
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
  visit([&](Side side, std::uint32_t index) {
    const Window& window = *on(scene.windows, side);
    on(state_.alone_memory, side).read(window, index, entry.aligned());
  });
  if (entry.aligned())
    compare_partners(scene, at, scene.windows.reference->items()[entry.reference].op);
  else
    leave_alone(scene);
  visit([&](Side side, std::uint32_t index) {
    const Event& event = on(scene.windows, side)->event(index);
    on(state_.data_reads, side).passed(event);
    on(state_.known_parameters, side).passed(event);
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
      join_({left[k].writer_lane, left[k].writer}, {right[k].writer_lane, right[k].writer});
}

void LaneComparison::count_accumulations(const Scene& scene, EventPair at) {
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    const Window& window = *on(scene.windows, side);
    if (window.event(index).kind == EventKind::gradient)
      state_.accumulations.add(side, window.event(index), takes_over_gradient(window, index));
    if (zeroes_gradient(window.event(index))) state_.accumulations.zero(side, window.event(index));
  }
}

Judgement LaneComparison::judge(const Scene& scene, EventPair at, bool op) {
  if (state_.only_layers) return layers_.judge(scene, at);
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
  if (judgement.outcome != Outcome::equal) note_path(scene, at);
  const std::uint64_t occurrence = state_.history.occurrence(identity(reference), scene.step);
  add_history(reference, occurrence, records);
  if (judgement.outcome == Outcome::equal)
    state_.history.equal(occurrence, scene.step);
  else
    state_.history.differs(occurrence);
  neighbours_.pass(scene, at, judgement.outcome, records);
}

/// How far apart the first unequal result of an op is, after the first difference.
void LaneComparison::note_path(const Scene& scene, EventPair at) {
  const Event& event = scene.windows.reference->event(at.reference);
  if (!state_.judge.follows_path(event.flags & event_flag::in_backward)) return;
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
  if (left != reference.event->slots.end() && right != candidate.event->slots.end())
    state_.judge.loss(state_.runs, state_.ranks, *left, *right);
}

void LaneComparison::add_history(const Event& event, std::uint64_t occurrence,
                                 std::size_t new_records) {
  auto& records = state_.book.records();
  const History::Past* past = state_.history.past(occurrence);
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

std::size_t LaneComparison::end_of_stretch() const {
  std::size_t end = walk_.cursor();
  while (end < walk_.committed() && !walk_.entries()[end].aligned()) ++end;
  return end;
}

/// The other run's recording ended before these entries: they may well have happened there too.
bool LaneComparison::cut_off(std::size_t end) const {
  if (end != walk_.entries().size()) return false;
  const Entry& entry = walk_.current();
  const Side other = entry.reference != kNoIndex ? Side::candidate : Side::reference;
  return !on(state_.runs, other)->info().complete && walk_.ends_here(other);
}

void LaneComparison::count_alone(const Scene& scene, EventPair at, bool op) {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const std::uint64_t events = op ? on(scene.windows, side)->end(index) - index : 1;
  Coverage& coverage = state_.totals.coverage;
  (side == Side::reference ? coverage.only_reference : coverage.only_candidate) += events;
}

void LaneComparison::leave_alone(const Scene& scene) {
  const Entry entry = walk_.current();
  const Side side = entry.reference != kNoIndex ? Side::reference : Side::candidate;
  const Window& window = *on(scene.windows, side);
  const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
  const bool op = window.items()[item].op;
  const EventPair at = walk_.events_of(entry);
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const bool unit = is_unit(state_, window.event(index));
  count_alone(scene, at, op);
  if (unit) ++on(state_.totals.ops, side);
  if (window.event(index).op == kFreedParameters)
    on(state_.freed, side).push_back({window.held(index), *on(scene.lanes, side)});
  if (!unit || is_ignored(state_, window.event(index))) return;

  if (walk_.cursor() >= alone_until_) {
    alone_until_ = end_of_stretch();
    alone_source_ = {};
    alone_otherwise_ = false;
    if (cut_off(alone_until_))
      ++state_.totals.cut_off;
    else
      take_stretch(scene);
  }
  if (!op) return;
  if (window.event(index).op.starts_with("aten::detach"))
    note_detached(state_, walk_, scene, side, index, alone_source_);
  state_.rng.drew_alone(side, window, index, scene.lanes.reference->id, scene.step, alone_source_);
  state_.numbers_read.read_alone(side, window.event(index));
  if (alone_otherwise_) judge_alone(state_, scene, side, index, last_position_);
  for (std::uint32_t inner = index; inner < window.end(index); ++inner) {
    state_.ledger.enter(
        differing::alone(side, {on(scene.lanes, side)->id, window.event(inner).position}),
        alone_source_);
    write_alone(state_, scene, side, inner, alone_source_);
    view_alone(state_, scene, side, inner, alone_source_);
  }
  on(state_.alone_memory, side).changed(window.event(index));
}

/// Ops without a partner follow from something that is known, or are a finding.
void LaneComparison::take_stretch(const Scene& scene) {
  const Stretch stretch(state_, walk_, scene, alone_until_, replaced_);
  const auto reason = explain_stretch(stretch);
  if (!reason) return enter_stretch(stretch);
  alone_source_ = reason->source;
  alone_otherwise_ = reason->computed_otherwise;
  if (reason->has_effect) watch_.add(alone_source_, walk_, alone_until_);
}

/// Both runs update parameters near the stretch, with nothing between that does not belong to it.
bool LaneComparison::stands_among_updates(const Scene& scene) const {
  const auto event = [&](EventPair at) -> const Event& {
    return scene.windows.reference->event(at.reference);
  };
  const auto& passed = neighbours_.passed();
  for (auto before = passed.rbegin(); before != passed.rend(); ++before) {
    if (updates_parameter(event(before->at))) return true;
    if (event(before->at).phase != Phase::optimizer) break;
  }
  for (std::size_t k = alone_until_; k < walk_.entries().size(); ++k) {
    const Entry& entry = walk_.entries()[k];
    if (!entry.aligned()) return false;
    if (!scene.windows.reference->items()[entry.reference].op) continue;
    if (updates_parameter(event(walk_.events_of(entry)))) return true;
    if (event(walk_.events_of(entry)).phase != Phase::optimizer) return false;
  }
  return false;
}

/// One finding for all of it.
void LaneComparison::enter_stretch(const Stretch& stretch) {
  const Scene& scene = stretch.scene;
  const StretchContents ops = contents_of(stretch);
  const Side side = ops.first.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t first = side == Side::reference ? ops.first.reference : ops.first.candidate;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(first);
  KeyHash key;
  for (const Side one : kSides) {
    key.add(std::uint64_t{on(ops.ops, one).size()});
    for (const std::string& op : on(ops.ops, one)) key.add(op);
  }
  // An update does the same for every parameter, and so does what adds to their gradients; a module
  // each time it is called, and the program's own code around the model for many things in a row.
  const bool adds = accumulates(window, first);
  const bool updates =
      adds || (event.flags & event_flag::in_optimizer) || event.phase == Phase::optimizer;
  const bool in_loss = !adds && !event.has_module &&
                       (event.phase == Phase::forward || event.phase == Phase::backward);
  // A step that only one run has continues from parameters that only it has updated.
  if (step_alone_)
    if (const auto update = differs_already(stretch, slot_flag::parameter))
      state_.book.make_diverging(*update);
  const std::size_t records = state_.book.records().size();
  alone_source_ = enter_alone(
      state_, FindingKind::sequence, scene, ops.first,
      side == Side::reference ? std::optional(event.position) : last_position_,
      {.key = key.value(), .once_per_step = in_loss, .any_place = updates, .harmless = true},
      [&](Record& record) {
        record.finding.diverges = false;
        record.listed = !state_.only_layers;  // how much is seen of modules is not a difference
        for (const Side one : kSides)
          if (!on(ops.ops, one).empty())
            record.finding.notes.push_back(
                fmt::format("only in the {}: {}", name(one), listed(on(ops.ops, one))));
        record.evidence.alone = ops.ops;
        record.evidence.alone_names = ops.names;
        record.evidence.alone_updates = ops.updated;
        record.evidence.alone_draws = ops.draws;
        record.evidence.alone_casts = ops.casts;
        record.evidence.among_updates = stands_among_updates(scene);
      });
  const bool known = records == state_.book.records().size();
  // It may have changed nothing while that could be determined.
  const bool asks_what_it_read =
      known && !state_.only_layers && !state_.book.diverges(alone_source_);
  const auto inherited = asks_what_it_read ? differs_already(stretch) : std::nullopt;
  if (state_.only_layers)
    layers_.alone(alone_source_);
  else if (inherited)
    alone_source_ = *inherited;
  else
    watch_.add(alone_source_, walk_, alone_until_);
  if (!known) neighbours_.stand_alone(scene, event, side);
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
                      side == Side::reference ? std::optional(event.position) : last_position_, {},
                      [&](Record& record) {
                        record.evidence.missing_steps = true;
                        record.finding.notes.push_back(
                            fmt::format("the {} goes on where the other run ends", name(side)));
                      });
    return true;
  }
  return false;
}

}  // namespace ulpscope::comparison
