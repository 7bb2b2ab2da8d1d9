#include "compare/diff/explain/spread.hpp"

#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

void spread_slot(OpPair& ops, const Slot* reference, const Slot* candidate, Match match) {
  if (is_difference(match)) {
    Source source = ops.why.value_or(Source{});
    source.written_alone = false;
    ops.differ(reference, candidate, source);
    if (ops.why && match == Match::differs)
      ops.state.ledger.enter(differing::contents(reference->digest, candidate->digest), source);
  } else if (match == Match::reshaped) {
    if (ops.why) ops.differ(reference, candidate, *ops.why);
  } else if (match == Match::equal) {
    if (!ops.state.ledger.memory.reference.empty())
      ops.state.ledger.memory.reference.clear(*reference);
    if (!ops.state.ledger.memory.candidate.empty())
      ops.state.ledger.memory.candidate.clear(*candidate);
  }
}

/// Why it is a view of other elements: for what is known of the op, or because a view is taken of
/// one.
[[nodiscard]] std::optional<Source> why_other_part(const OpPair& ops, const SlotPair& slot) {
  if (!both(slot, slot_flag::view) || !is_other_part(slot)) return std::nullopt;
  if (ops.why) return ops.why;
  for (const SlotPair& input : ops.slots)
    if (input.role() == Role::input)
      if (const auto source = ops.reason_of_part(input)) return source;
  return std::nullopt;
}

/// Equal numbers that a view puts into a different part of the memory leave both parts different.
[[nodiscard]] std::optional<Source> written_elsewhere(OpPair& ops, const SlotPair& slot) {
  if (slot.match != Match::equal || !is_other_part(slot)) return std::nullopt;
  return ops.reason_of(slot);
}

}  // namespace

void spread(OpPair& ops) {
  const Window& reference = *ops.scene.windows.reference;
  const Window& candidate = *ops.scene.windows.candidate;
  const bool clean =
      ops.state.ledger.memory.reference.empty() && ops.state.ledger.memory.candidate.empty();
  // A value that was given is equal from here on, but another lane may have read it before.
  if (!clean && !ops.state.mode.injected)
    for (const SlotPair& slot : ops.slots)
      if (slot.role() == Role::input && slot.match == Match::equal)
        spread_slot(ops, slot.reference, slot.candidate, slot.match);
  for (const EventPair& pair : clean ? ops.inside_differing : ops.inside.pairs()) {
    compare_slots(reference.event(pair.reference), candidate.event(pair.candidate),
                  ops.inner_slots);
    for (const SlotPair& slot : ops.inner_slots)
      if (slot.role() != Role::input) spread_slot(ops, slot.reference, slot.candidate, slot.match);
  }
  const Source source = ops.why.value_or(Source{});
  for (const std::uint32_t index : ops.inside.alone().reference)
    write_alone(ops.state, ops.scene, Side::reference, index, source);
  for (const std::uint32_t index : ops.inside.alone().candidate)
    write_alone(ops.state, ops.scene, Side::candidate, index, source);
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() == Role::input) continue;
    if (const auto picked = why_other_part(ops, slot)) {
      ops.differ(slot.reference, slot.candidate, *picked);
      ops.state.ledger.enter(differing::part(*slot.reference, *slot.candidate), *picked);
    }
    if (const auto elsewhere = written_elsewhere(ops, slot))
      ops.differ(slot.reference, slot.candidate, *elsewhere);
    else
      spread_slot(ops, slot.reference, slot.candidate, slot.match);
  }
}

void write_alone(RankState& state, const Scene& scene, Side side, std::uint32_t index,
                 const Source& source) {
  Source alone = source;
  alone.written_alone = true;
  const Event& op = on(scene.windows, side)->event(index);
  for (const Slot& slot : op.slots)
    if (writes(slot)) on(state.ledger.memory, side).taint(slot, alone, scene.step);
  on(state.memory.alone, side).wrote(op);
}

void view_alone(RankState& state, const Scene& scene, Side side, std::uint32_t index,
                const Source& source) {
  const Event& op = on(scene.windows, side)->event(index);
  if (gives_memory(op)) return;
  for (const Slot& slot : op.slots) {
    if (slot.role == Role::input) continue;
    if (slot.flags & (slot_flag::view | slot_flag::uninitialised))
      state.ledger.enter(differing::view(side, slot.storage, scene.step), source);
    if ((slot.flags & slot_flag::view) && slot.geometry != nullptr)
      state.ledger.enter(differing::viewed_part(side, slot, scene.step), source);
  }
}

}  // namespace ulpscope::comparison
