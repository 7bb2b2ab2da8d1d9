#include "compare/diff/lone_stretches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compare/diff/effect.hpp"
#include "compare/diff/explain/replays.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/units.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {

namespace {

/// Calls visit(key) for each parameter that an op updates.
template <class Visit>
void for_each_updated(const Event& op, Visit visit) {
  for (const Slot& slot : op.slots)
    if (writes(slot) && (slot.flags & slot_flag::parameter) && !slot.name.empty())
      visit(KeyHash().add(op.root).add(slot.name).value());
}

/// One of the ops inside a node does.
[[nodiscard]] bool writes_memory(const Window& window, std::uint32_t node) {
  for (std::uint32_t inner = node + 1; inner < window.end(node); ++inner)
    for (const Slot& slot : window.event(inner).slots)
      if (slot.role != Role::input && !(slot.flags & slot_flag::view)) return true;
  return false;
}

[[nodiscard]] bool runs_backward(const Stretch& stretch, Side side) {
  return std::any_of(stretch.units.begin(), stretch.units.end(), [&](const Stretch::Alone& one) {
    return one.side == side && one.window.event(one.index).phase == Phase::backward;
  });
}

}  // namespace

void LoneStretches::passed(const Event& op) {
  if (op.phase == Phase::forward) updated_.clear();
  if (op.phase != Phase::optimizer) return;
  for_each_updated(op, [&](std::uint64_t parameter) { updated_.insert(parameter); });
}

/// What both runs have updated since the last forward of both.
bool LoneStretches::updates_again(const Stretch& stretch) const {
  std::size_t updates = 0;
  std::size_t again = 0;
  for (const auto& [side, window, index] : stretch.units)
    for_each_updated(window.event(index), [&](std::uint64_t parameter) {
      ++updates;
      again += updated_.contains(parameter) ? 1 : 0;
    });
  return updates > 0 && again == updates;
}

std::size_t LoneStretches::end_of_stretch() const {
  std::size_t end = walk_.cursor();
  while (end < walk_.committed() && !walk_.entries()[end].aligned()) ++end;
  return end;
}

/// Where the ops of backward end that the stretch begins with, as what updates parameters comes.
std::size_t LoneStretches::end_of_backward(const Stretch& stretch) const {
  const auto is_of_backward = [&](const Stretch::Alone& one) {
    return (one.window.event(one.index).flags & event_flag::in_backward) != 0;
  };
  const auto& units = stretch.units;
  const auto other = std::find_if_not(units.begin(), units.end(), is_of_backward);
  if (other == units.begin() || other == units.end()) return stretch.end;
  const auto at = std::find_if(stretch.all.begin(), stretch.all.end(), [&](const auto& one) {
    return one.side == other->side && one.index == other->index;
  });
  return walk_.cursor() + static_cast<std::size_t>(at - stretch.all.begin());
}

/// The other run's recording ended before these entries: they may well have happened there too.
bool LoneStretches::cut_off(std::size_t end) const {
  if (end != walk_.entries().size()) return false;
  const Entry& entry = walk_.current();
  const Side other = entry.reference != kNoIndex ? Side::candidate : Side::reference;
  return !on(state_.runs, other)->info().complete && walk_.ends_here(other);
}

void LoneStretches::count_alone(const Scene& scene, EventPair at, bool op) {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const std::uint64_t events = op ? on(scene.windows, side)->end(index) - index : 1;
  Coverage& coverage = state_.totals.coverage;
  (side == Side::reference ? coverage.only_reference : coverage.only_candidate) += events;
}

void LoneStretches::leave(const Scene& scene, std::optional<std::uint64_t> last_position) {
  last_position_ = last_position;
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
    on(state_.memory.freed, side).push_back({window.held(index), *on(scene.lanes, side)});
  if (window.event(index).kind == EventKind::node) note_node(scene, side, index);
  if (!unit || is_ignored(state_, window.event(index))) return;

  if (walk_.cursor() >= until_) {
    until_ = end_of_stretch();
    source_ = {};
    looks_.clear();
    otherwise_ = false;
    if (cut_off(until_))
      ++state_.totals.cut_off;
    else
      take_stretch(scene);
  }
  if (!op) return;
  const Source& source = source_of(index);
  if (window.event(index).op.starts_with("aten::detach"))
    note_detached(state_, walk_, scene, side, index, source);
  state_.random.rng.drew_alone(side, window, index, scene.lanes.reference->id, scene.step, source);
  state_.program.numbers_read.read_alone(side, window.event(index));
  if (window.event(index).op == kSave)
    for (const Slot& slot : window.event(index).slots)
      on(state_.program.saved_alone, side).push_back({content_of(slot), source});
  if (otherwise_) judge_alone(state_, scene, side, index, last_position_);
  for (std::uint32_t inner = index; inner < window.end(index); ++inner) {
    for (const Slot& slot : window.event(inner).slots)
      if (slot.flags & slot_flag::changed)
        on(state_.memory.seen_changed, side).insert(slot.storage);
    state_.ledger.enter(
        differing::alone(side, {on(scene.lanes, side)->id, window.event(inner).position}), source);
    write_alone(state_, scene, side, inner, source);
    view_alone(state_, scene, side, inner, source);
  }
  note_gradient(scene, side, index);
  note_update(side, window, index);
  AloneMemory& memory = on(state_.memory.alone, side);
  memory.changed(window.event(index));
  memory.returned(window.event(index));
  state_.memory.absorption.passed_alone(scene, side, index, source);
}

/// Keeps which ops of backward belong to a node that one run alone has, so that the backward of
/// those ops is known to follow, even where the other run has such ops, too. So does what gets its
/// gradient from such a node, as from that of a sum.
void LoneStretches::note_node(const Scene& scene, Side side, std::uint32_t node) {
  const Window& window = *on(scene.windows, side);
  const auto gradients = [&](auto visit) {
    for (const Slot& slot : window.event(node).slots)
      if (slot.role == Role::input && slot.writer != kNone)
        visit(differing::passed_on(side, {slot.writer_lane, slot.writer}));
  };
  auto why = why_of_backward(state_.ledger, side, forward_place(window, node));
  gradients([&](DifferingKey key) {
    if (!why) why = state_.ledger.find(key);
  });
  if (!why) return;
  if (!writes_memory(window, node))
    gradients([&](DifferingKey key) { state_.ledger.enter(key, *why); });
  for (std::uint32_t inner = node + 1; inner < window.end(node); ++inner)
    state_.ledger.enter(
        differing::of_alone_node(side, {on(scene.lanes, side)->id, window.event(inner).position}),
        *why);
}

/// Keeps which parameter one run alone updates, and by which optimizer.
void LoneStretches::note_update(Side side, const Window& window, std::uint32_t op) {
  const Event& event = window.event(op);
  const std::uint32_t step = optimizer_around(window, op);
  for (const Slot& slot : event.slots) {
    if (!writes(slot) || !(slot.flags & slot_flag::parameter)) continue;
    state_.ledger.enter(differing::updated_alone(event.root, slot.name), source_);
    if (step != kNoIndex)
      state_.ledger.enter(differing::updated_by(side, window.event(step).object), source_);
  }
}

/// Keeps which parameter the other run accumulates no gradient for.
void LoneStretches::note_gradient(const Scene& scene, Side side, std::uint32_t op) {
  const Window& window = *on(scene.windows, side);
  if (!accumulates(window, op)) return;
  const std::uint32_t accumulation = window.parent(op);
  const std::uint32_t item = window.item_of(accumulation);
  const auto& partners = on(scene.partners, side);
  if (item >= partners.size() || partners[item] != 0) return;
  if (const std::string_view parameter = accumulated_parameter(window, op); !parameter.empty())
    state_.ledger.enter(
        differing::gradient_alone(window.event(accumulation).root, parameter, scene.step), source_);
}

/// Ops without a partner follow from something that is known, or are a finding. Where only what
/// backward does at the beginning follows, the rest is a stretch of its own.
void LoneStretches::take_stretch(const Scene& scene) {
  const Stretch stretch(state_, walk_, scene, until_, replaced_, in_lists_);
  auto reason = explain_stretch(stretch);
  if (const std::size_t end = end_of_backward(stretch); !reason && end < until_) {
    reason = explain_stretch(Stretch(state_, walk_, scene, end, replaced_, in_lists_));
    if (reason) until_ = end;
  }
  if (!reason) {
    enter_parts(stretch);
    return;
  }
  source_ = reason->source;
  otherwise_ = reason->computed_otherwise;
  if (reason->has_effect) watch_.add(source_, walk_, until_);
}

/// What only looks is harmless whatever the rest does, and a finding of its own.
void LoneStretches::enter_parts(const Stretch& stretch) {
  const auto looks = part_that_looks(stretch);
  if (looks.empty()) return enter_stretch(stretch);
  for (const Stretch::Alone& one : looks) looks_.insert(one.index);
  Stretch first = stretch;
  first.units.clear();
  Stretch rest = first;
  for (const Stretch::Alone& one : stretch.units)
    (looks_.contains(one.index) ? first : rest).units.push_back(one);
  enter_stretch(first, /*only_looks=*/true);
  looks_source_ = source_;
  enter_stretch(rest);
}

/// Both runs update parameters near the stretch, with nothing between that does not belong to it.
bool LoneStretches::stands_among_updates(const Scene& scene) const {
  const auto event = [&](EventPair at) -> const Event& {
    return scene.windows.reference->event(at.reference);
  };
  const auto& passed = neighbours_.passed();
  for (auto before = passed.rbegin(); before != passed.rend(); ++before) {
    if (updates_parameter(event(before->at))) return true;
    if (event(before->at).phase != Phase::optimizer) break;
  }
  for (std::size_t k = until_; k < walk_.entries().size(); ++k) {
    const Entry& entry = walk_.entries()[k];
    if (!entry.aligned()) return false;
    if (!scene.windows.reference->items()[entry.reference].op) continue;
    if (updates_parameter(event(walk_.events_of(entry)))) return true;
    if (event(walk_.events_of(entry)).phase != Phase::optimizer) return false;
  }
  return false;
}

/// Whose writes to memory of both runs it reads, of what its run alone did in earlier steps.
void LoneStretches::note_reads(const Stretch& stretch) {
  for (const auto& [side, window, index] : stretch.units)
    for (const Slot& slot : window.event(index).slots) {
      if (!reads(slot) || on(state_.memory.alone, side).made(slot)) continue;
      const auto writer = on(state_.ledger.memory, side).find(slot, stretch.scene.step);
      if (writer && writer->written_alone && writer->step < stretch.scene.step)
        state_.book.note_read(*writer, source_);
    }
}

/// One finding for all of it.
void LoneStretches::enter_stretch(const Stretch& stretch, bool only_looks) {
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
  const bool is_between_modules =
      (event.phase == Phase::data || event.phase == Phase::setup) && !event.has_module;
  // A step that only one run has continues from parameters that only it has updated.
  if (step_alone_)
    if (const auto update = differs_already(stretch, slot_flag::parameter))
      state_.book.make_diverging(*update);
  // An optimizer that is set otherwise may run other ops, and its closure more often.
  const auto options = other_options(scene, ops.first);
  const Distinction distinction{
      .key =
          options.empty() ? key.value() : state_.program.option_keys.of(scene, ops.first, options),
      .once_per_step = in_loss && options.empty(),
      .any_place = updates || !options.empty(),
      .any_op = !options.empty(),
      .harmless = true};
  const bool known = is_entered(state_, FindingKind::sequence, scene, ops.first, distinction);
  if (const auto begun = known ? std::nullopt : trains_alone(stretch)) {
    source_ = *begun;
    return watch_.add(source_, walk_, until_);
  }
  source_ = enter_alone(state_, FindingKind::sequence, scene, ops.first,
                        side == Side::reference ? std::optional(event.position) : last_position_,
                        distinction, [&](Record& record) {
                          record.finding.diverges = false;
                          // How much is seen of modules is not a difference, nor when a loader
                          // hands out its batches.
                          record.listed = !state_.mode.only_layers &&
                                          !(ops.compute_nothing && is_between_modules);
                          for (const Side one : kSides)
                            if (!on(ops.ops, one).empty())
                              record.finding.notes.push_back(fmt::format(
                                  "only in the {}: {}", name(one), listed(on(ops.ops, one))));
                          record.evidence.alone = ops.ops;
                          record.evidence.alone_names = ops.names;
                          record.evidence.alone_storages = ops.written;
                          record.evidence.alone_updates = ops.updated;
                          record.evidence.alone_unwritten = ops.unwritten;
                          record.evidence.alone_draws = ops.draws;
                          record.evidence.alone_casts = ops.casts;
                          record.evidence.among_updates = stands_among_updates(scene);
                          record.evidence.updated_again = updates_again(stretch);
                          record.evidence.whole_step = step_alone_;
                        });
  // Whether a difference follows from it does not show where values were given.
  if (state_.mode.injected && !ops.compute_nothing) state_.book.make_diverging(source_);
  // It may have changed nothing while that could be determined.
  const bool asks_what_it_read =
      known && !state_.mode.only_layers && !state_.book.diverges(source_);
  const auto inherited = asks_what_it_read ? differs_already(stretch) : std::nullopt;
  if (state_.mode.only_layers)
    layers_.alone(source_);
  else if (inherited)
    source_ = *inherited;
  else
    watch_.add(source_, walk_, until_, only_looks || ops.compute_nothing);
  if (!state_.mode.only_layers && !inherited) note_reads(stretch);
  for (const Side one : kSides)
    if (!step_alone_ && runs_backward(stretch, one)) ++on(state_.totals.lone_backwards, one);
  if (!known) neighbours_.stand_alone(scene, event, side);
}

}  // namespace ulpscope::comparison
