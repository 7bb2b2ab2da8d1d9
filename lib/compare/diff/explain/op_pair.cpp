#include "compare/diff/explain/op_pair.hpp"

#include <algorithm>

#include "compare/diff/effect.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/measure/tensor_bytes.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// The op returns the memory that it was given, as `numpy()` does, and nothing else.
[[nodiscard]] bool only_hands_back(const Event& op, const Slot& input) {
  bool any = false;
  for (const Slot& slot : op.slots) {
    if (slot.role == Role::input) continue;
    if (!(slot.flags & slot_flag::view) || slot.storage != input.storage) return false;
    any = true;
  }
  return any;
}

[[nodiscard]] bool accumulates(const Event& op) {
  const auto given = ulpscope::arguments(op);
  return std::any_of(given.begin(), given.end(), [](const Argument& argument) {
    return argument.name == "reduce" || (argument.name == "accumulate" && argument.text == "True");
  });
}

/// The op writes elements of its first tensor that its arguments choose.
[[nodiscard]] bool keeps_rest(const Event& op) {
  const facts::Op known(op.op);
  return known.is_in_place() && known.has(facts::fact::keeps_rest);
}

/// Memory that no op has filled, and that the program has not changed since one filled a part.
[[nodiscard]] bool is_unfilled(const SlotPair& slot) {
  return both(slot, slot_flag::uninitialised) && !either(slot, slot_flag::changed);
}

[[nodiscard]] bool is_self(const SlotPair& slot) {
  return slot.reference && slot.candidate && slot.any().index == 0;
}

}  // namespace

bool is_other_part(const SlotPair& slot) {
  if (!slot.reference || !slot.candidate || !slot.reference->geometry || !slot.candidate->geometry)
    return false;
  const Geometry& a = *slot.reference->geometry;
  const Geometry& b = *slot.candidate->geometry;
  return a.storage_offset != b.storage_offset || a.sizes != b.sizes || a.strides != b.strides;
}

const Event& OpPair::event(Side side) const {
  return on(scene.windows, side)->event(side == Side::reference ? at.reference : at.candidate);
}

void OpPair::found(const Source& source) {
  judgement.outcome = Judged::found;
  lane.last_source = source;
  lane.last_step = scene.step;
  if (!why) why = source;
}

void OpPair::propagated(const Source& source) {
  make_diverging(source);
  lane.last_source = source;
  lane.last_step = scene.step;
  if (judgement.outcome == Judged::equal) judgement.outcome = Judged::propagated;
  if (!why) why = source;
}

void OpPair::make_diverging(const Source& source) {
  if (state.book.looks_ahead(source) && reads_only_indices()) return;
  state.book.make_diverging(source, [&](Record& record) { keep_effect(record, scene, at); });
}

/// The code around a loader, at numbers that say which samples come next.
bool OpPair::reads_only_indices() const {
  return in_data_code() && std::none_of(slots.begin(), slots.end(), [](const SlotPair& slot) {
           return is_difference(slot.match) &&
                  (slot.any().geometry == nullptr || slot.any().geometry->dtype != Dtype::int64);
         });
}

void OpPair::begin(const Scene& new_scene, EventPair new_at) {
  scene = new_scene;
  at = new_at;
  judgement = {};
  why.reset();
  inputs_differ = false;
  looked_at = false;
  generator_differs = false;
  uneven_draws.clear();
  compare_slots(event(Side::reference), event(Side::candidate), slots);
  set_unused_memory_aside();
  compare_layouts();
  arguments = compare_arguments(event(Side::reference), event(Side::candidate));
  judge_partly_filled();
  count_values(state, scene, at, slots, judgement);
  judgement.differs = judgement.differs || !arguments.results.empty();
}

/// Memory that no op has filled means nothing until something is computed from it: the program may
/// be about to fill it.
void OpPair::set_unused_memory_aside() {
  for (SlotPair& slot : slots) {
    if (slot.role() != Role::input || !was_compared(slot.match)) continue;
    const bool unfilled = slot.match == Match::differs && is_unfilled(slot);
    if (!unfilled && state.memory.handed_back.reference.empty()) continue;
    const bool unused = std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
      return only_hands_back(event(side), *slot.of(side));
    });
    for (const Side side : kSides)
      if (!unused) on(state.memory.handed_back, side).erase(slot.of(side)->storage);
    if (!unused || !unfilled) continue;
    const bool of_tensor = std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
      const auto factory = factory_of(scene, side, event(side), *slot.of(side));
      return !factory || factory->of_tensor;
    });
    if (of_tensor) continue;
    slot.match = Match::uninitialised;
    for (const Side side : kSides)
      on(state.memory.handed_back, side).insert(slot.of(side)->storage);
  }
}

/// The op fills a part of memory that no op has filled. The rest means nothing, unless the op adds
/// to it: what it leaves differs by what it writes only if it is given something else.
void OpPair::judge_partly_filled() {
  const auto left = std::find_if(slots.begin(), slots.end(), [](const SlotPair& slot) {
    return is_self(slot) && slot.role() == Role::mutated && slot.match == Match::uninitialised;
  });
  if (left == slots.end() || !keeps_rest(event(Side::reference))) return;
  const bool adds = accumulates(event(Side::reference));
  bool given_same = arguments.values.empty();
  bool rest_differs = false;
  for (SlotPair& slot : slots) {
    if (slot.role() != Role::input || slot.match == Match::equal || slot.match == Match::aside)
      continue;
    const bool is_rest =
        is_self(slot) && !adds && slot.match == Match::differs && is_unfilled(slot);
    if (is_rest) slot.match = Match::uninitialised;
    rest_differs = rest_differs || is_rest;
    given_same = given_same && is_rest;
  }
  if (((left->reference->flags | left->candidate->flags) & slot_flag::no_digest) != 0) return;
  if (left->reference->digest == left->candidate->digest)
    left->match = Match::equal;
  else if (!given_same || !rest_differs)
    left->match = Match::differs;
}

void OpPair::compare_inside() {
  inside_differing.clear();
  if (event(Side::reference).kind != EventKind::op) {
    inside = {};  // what runs inside a scope is judged separately
    return;
  }
  inside.compare(*scene.windows.reference, *scene.windows.candidate, at);
  if (!inside.same()) note_computed_otherwise();
  for (const EventPair& pair : inside.pairs()) {
    compare_slots(scene.windows.reference->event(pair.reference),
                  scene.windows.candidate->event(pair.candidate), inner_slots);
    bool differs = false;
    bool writes = false;
    for (const SlotPair& slot : inner_slots) {
      differs = differs || (slot.role() != Role::input && is_difference(slot.match));
      writes = writes || slot.role() == Role::mutated;
    }
    if (differs) inside_differing.push_back(pair);
    if (writes) add_inside_writes(inner_slots);
    state.partners.storages.passed(inner_slots);
  }
}

void OpPair::note_computed_otherwise() {
  for (const Side side : kSides) {
    const Window& window = *on(scene.windows, side);
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    on(state.partners.otherwise_computed, side)
        .add(on(scene.lanes, side)->id, window.event(index).position,
             window.event(window.end(index) - 1).position, event(Side::reference).position);
  }
}

/// Inner ops may write inputs of the outer op although its schema does not say so (the running
/// statistics of a batch norm). Such writes count as the outer op's own.
void OpPair::add_inside_writes(const std::vector<SlotPair>& inner) {
  for (const SlotPair& slot : inner) {
    if (slot.role() != Role::mutated || !was_compared(slot.match)) continue;
    const auto same_memory = [&](const SlotPair& outer) {
      return outer.reference && outer.reference->storage == slot.reference->storage;
    };
    const bool given = std::any_of(slots.begin(), slots.end(), [&](const SlotPair& outer) {
      return outer.role() == Role::input && same_memory(outer);
    });
    if (!given) continue;
    // The last write inside is what the op leaves.
    const auto known = std::find_if(slots.begin(), slots.end(), [&](const SlotPair& outer) {
      return outer.role() != Role::input && same_memory(outer);
    });
    if (known == slots.end())
      slots.push_back(slot);
    else if (known->owner != &event(Side::reference))
      *known = slot;
    if (slot.match != Match::differs) continue;
    judgement.differs = true;
    judge_tolerance(state, scene, at, slot);
  }
}

std::optional<Source> OpPair::known_difference(const SlotPair& slot) {
  std::optional<Source> source;
  if (slot.reference) source = state.ledger.memory.reference.find(*slot.reference, scene.step);
  if (!slot.candidate) return source;
  const auto other = state.ledger.memory.candidate.find(*slot.candidate, scene.step);
  if (other && source) make_diverging(*other);
  if (source || other) return source ? source : other;
  return reason_of_part(slot);
}

std::optional<Source> OpPair::reason_of_part(const SlotPair& slot) const {
  if (!state.ledger.any(Differing::part) || !is_other_part(slot)) return std::nullopt;
  return state.ledger.find(differing::part(*slot.reference, *slot.candidate));
}

std::optional<Source> OpPair::reason_of(const SlotPair& slot) {
  std::optional<Source> source;
  if (slot.reference) source = state.ledger.memory.reference.find(*slot.reference, scene.step);
  if (!source && slot.candidate)
    source = state.ledger.memory.candidate.find(*slot.candidate, scene.step);
  return source;
}

bool OpPair::in_data_code() const {
  const Event& here = event(Side::reference);
  return !here.has_module && (here.phase == Phase::data || here.phase == Phase::setup);
}

std::optional<Source> OpPair::drawn_order() const {
  const Event& here = event(Side::reference);
  const auto& drawn = state.ledger.last(Differing::drawn_order);
  const bool of_program = !here.has_module && !(here.flags & event_flag::in_backward);
  return drawn && of_program && drawn->finding != kNoFinding ? drawn : std::nullopt;
}

bool OpPair::between_models() const {
  const Event& here = event(Side::reference);
  return !here.has_module && here.phase != Phase::forward && here.phase != Phase::backward;
}

/// Digests follow the order in memory; if that differs, the bytes decide.
void OpPair::compare_layouts() {
  for (SlotPair& slot : slots) {
    if (slot.match != Match::layout && slot.match != Match::reordered) continue;
    const auto apart = difference_of(slot);
    if (!apart) continue;
    if (apart->differing == 0)
      slot.match = Match::equal;  // a symmetric matrix
    else if (slot.match == Match::layout)
      slot.match = Match::differs;
  }
}

std::optional<Difference> OpPair::difference_of(const SlotPair& slot) const {
  const auto bytes =
      tensor_bytes(scene.runs, scene.ranks, {slot.reference->digest, slot.candidate->digest},
                   {*slot.reference->geometry, *slot.candidate->geometry});
  if (!bytes) return std::nullopt;
  return difference(bytes->dtype, bytes->shape, bytes->strides, bytes->bytes.reference,
                    bytes->bytes.candidate);
}

void OpPair::differ(const Slot* reference, const Slot* candidate, const Source& source) {
  if (reference) state.ledger.memory.reference.taint(*reference, source, scene.step);
  if (candidate) state.ledger.memory.candidate.taint(*candidate, source, scene.step);
}

}  // namespace ulpscope::comparison
