#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/fresh.hpp"
#include "compare/diff/explain/kept_otherwise.hpp"
#include "compare/diff/other_tensor.hpp"
#include "compare/diff/producer.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// Why a tensor that a view is taken of has a different dtype or shape, if known. Its readers
/// decide whether it matters.
[[nodiscard]] std::optional<Source> differs_for_readers(OpPair& ops, const SlotPair& slot) {
  const bool views =
      ops.event(Side::reference).flags & ops.event(Side::candidate).flags & event_flag::view;
  if (!views || slot.match != Match::metadata || !both(slot, slot_flag::metadata_only))
    return std::nullopt;
  return ops.reason_of(slot);
}

/// No update has been made yet.
[[nodiscard]] bool in_first_forward(const OpPair& ops) {
  return ops.scene.step <= 0 && ops.event(Side::reference).phase == Phase::forward;
}

/// Why both runs had these very contents where they differed before. A few numbers may agree by
/// accident.
[[nodiscard]] std::optional<Source> differed_before(const OpPair& ops, const SlotPair& slot) {
  constexpr std::uint64_t kFew = 4;
  const bool named = either(slot, slot_flag::parameter | slot_flag::buffer | slot_flag::gradient);
  if (slot.match != Match::differs || (!named && element_count(*slot.reference->geometry) < kFew))
    return std::nullopt;
  return ops.state.ledger.find(differing::contents(slot.reference->digest, slot.candidate->digest));
}

/// Why what comes from outside of ops differs, if it follows from what the program has read:
/// samples that it takes in an order that it has drawn, or the two numbers, such as losses that it
/// collects.
[[nodiscard]] std::optional<Source> made_of_read(const OpPair& ops, const SlotPair& slot) {
  const auto from_outside = [](const Slot& one) {
    return (one.flags & (slot_flag::unproduced | slot_flag::uninitialised)) != 0;
  };
  const bool outside = from_outside(*slot.reference) && from_outside(*slot.candidate);
  if (const auto drawn = ops.drawn_order(); drawn && (outside || ops.in_data_code())) return drawn;
  if (slot.match != Match::differs || !outside) return std::nullopt;
  if (element_count(*slot.reference->geometry) != 1) return std::nullopt;
  return ops.state.ledger.explain_number(*slot.reference, *slot.candidate);
}

/// Ops that leave what they were given.
[[nodiscard]] bool only_copy(const std::vector<std::string>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const std::string& op) {
    return facts::Op(op).has(facts::fact::relays_out | facts::fact::takes_over);
  });
}

/// What one run alone has makes a copy and nothing else, and what that keeps is not told yet.
[[nodiscard]] bool is_untold_copy(const Evidence& evidence, Side side) {
  return only_copy(on(evidence.alone, side)) && on(evidence.alone, the_other(side)).empty() &&
         evidence.overwritten.empty();
}

/// Why an op that one run alone has made what that run reads here, and the other reads something
/// else.
[[nodiscard]] std::optional<Source> made_alone(OpPair& ops, const SlotPair& slot) {
  for (const Side side : kSides) {
    const Slot& one = *slot.of(side);
    const auto source =
        ops.state.ledger.find(differing::alone(side, {one.writer_lane, one.writer}));
    if (!source || !is_kept(source->finding)) continue;
    Evidence& evidence = ops.state.book.records()[source->finding].evidence;
    const Side other = the_other(side);
    if (slot.of(other)->writer != kNone && is_untold_copy(evidence, side))
      evidence.overwritten = fmt::format(
          "in the {} {} reads what {}, has made; in the {} the original, which {}, has overwritten",
          name(side), ops.event(Side::reference).op, words(producer(ops.scene, side, one)),
          name(other), words(producer(ops.scene, other, *slot.of(other))));
    return source;
  }
  return std::nullopt;
}

/// Why one run alone reads what an op has overwritten: that op writes a copy in the other run.
[[nodiscard]] std::optional<Source> overwritten_original(OpPair& ops, const SlotPair& slot) {
  const auto copy = ops.state.partners.copies.of_original(slot, ops.state.partners.storages);
  if (!copy || !copy->written || !is_kept(copy->source.finding) || either(slot, slot_flag::changed))
    return std::nullopt;
  Evidence& evidence = ops.state.book.records()[copy->source.finding].evidence;
  const Side other = the_other(copy->side);
  if (is_untold_copy(evidence, copy->side))
    evidence.overwritten =
        fmt::format("in the {} {} reads what {}, has overwritten; in the {} that writes the copy",
                    name(other), ops.event(Side::reference).op,
                    words(producer(ops.scene, other, *slot.of(other))), name(copy->side));
  return copy->source;
}

/// A run reads what no op wrote, in memory that only it has handed out.
[[nodiscard]] std::optional<Source> handed_out_alone(const OpPair& ops, const SlotPair& slot) {
  for (const Side side : kSides) {
    const Slot& one = *slot.of(side);
    constexpr std::uint32_t kUnwritten = slot_flag::unproduced | slot_flag::uninitialised;
    if (!(one.flags & kUnwritten) || (one.flags & slot_flag::view)) continue;
    if (auto source = ops.state.ledger.find(differing::view(side, one.storage, ops.scene.step)))
      return source;
  }
  return std::nullopt;
}

/// A run reads another part than the other one, or with other signs, through a view that an op of
/// its own has made. Where both runs have both parts, the program gives the op another one.
[[nodiscard]] std::optional<Source> part_viewed_alone(const OpPair& ops, const SlotPair& slot) {
  const Geometry& a = *slot.reference->geometry;
  const Geometry& b = *slot.candidate->geometry;
  constexpr std::uint16_t kSigns = geometry_flag::conj | geometry_flag::neg;
  if (a.sizes == b.sizes && a.strides == b.strides && a.storage_offset == b.storage_offset &&
      (a.flags & kSigns) == (b.flags & kSigns))
    return std::nullopt;
  std::optional<Source> source;
  for (const Side side : kSides)
    if (!source)
      source = ops.state.ledger.find(differing::viewed_part(side, *slot.of(side), ops.scene.step));
  if (source && other_tensor(ops.state, ops.scene, ops.at, slot)) return std::nullopt;
  return source;
}

/// Two tensors, laid out too differently to be compared, of which the op makes different results.
[[nodiscard]] bool is_other_layout_of_two(const OpPair& ops, const SlotPair& slot) {
  return slot.match == Match::layout && !gives_the_same(ops) &&
         other_tensor(ops.state, ops.scene, ops.at, slot).has_value();
}

/// Recording has given a run the value of a different call: nothing follows from it.
[[nodiscard]] bool was_injected(const OpPair& ops, const SlotPair& slot) {
  if (!ops.state.mode.injected) return false;
  return std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
    const Slot& one = *slot.of(side);
    const HeldEvent writer = find_event(*on(ops.scene.runs, side), on(ops.scene.ranks, side),
                                        {one.writer_lane, one.writer});
    return writer.event != nullptr && writer.event->op == kInject;
  });
}

/// Extra tensors of one run in a list shift the tensors after them.
[[nodiscard]] bool is_list_of_other_length(const OpPair& ops, std::uint16_t index) {
  return std::any_of(ops.slots.begin(), ops.slots.end(), [&](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::one_sided &&
           slot.any().index == index && slot.any().element > 0;
  });
}

}  // namespace

void explain_inputs(OpPair& ops) {
  std::vector<const SlotPair*> fresh;
  std::set<std::uint16_t> known;
  for (SlotPair& slot : ops.slots) {
    if (slot.role() != Role::input) continue;
    if (!ops.why && is_other_layout_of_two(ops, slot)) slot.match = Match::differs;
    if (!is_difference(slot.match)) continue;
    if (is_kept_otherwise(ops, slot)) {
      const auto source = ops.reason_of(slot);
      if (!source || !ops.state.book.diverges(*source)) continue;  // its kernel's results are equal
    }
    if (other_root(ops.state, ops.scene, ops.at, slot)) {
      ops.inputs_differ = true;
      fresh.push_back(&slot);
    } else if (const auto read = differs_for_readers(ops, slot)) {
      ops.inputs_differ = true;
      ops.looked_at = true;
      ops.why = read;
    } else if (const auto source = ops.known_difference(slot)) {
      ops.inputs_differ = true;
      if (either(slot, slot_flag::parameter) && in_first_forward(ops))
        ops.state.totals.evidence.other_start = true;
      known.insert(slot.any().index);
      ops.propagated(*source);
    } else if (slot.match != Match::one_sided && !either(slot, slot_flag::wrapped_number)) {
      ops.inputs_differ = true;
      if (const auto before = differed_before(ops, slot)) {
        ops.propagated(*before);
        ops.differ(slot.reference, slot.candidate, *before);
      } else if (const auto maker = made_alone(ops, slot)) {
        ops.propagated(*maker);
        ops.differ(slot.reference, slot.candidate, *maker);
      } else if (const auto copy = overwritten_original(ops, slot)) {
        ops.propagated(*copy);
        ops.differ(slot.reference, slot.candidate, *copy);
      } else if (const auto alone = handed_out_alone(ops, slot)) {
        ops.propagated(*alone);
      } else if (const auto viewed = part_viewed_alone(ops, slot)) {
        ops.propagated(*viewed);
        ops.differ(slot.reference, slot.candidate, *viewed);
      } else if (const auto read_before = made_of_read(ops, slot)) {
        ops.propagated(*read_before);
        ops.differ(slot.reference, slot.candidate, *read_before);
      } else if (was_injected(ops, slot)) {
        ops.propagated(Source{});
      } else {
        fresh.push_back(&slot);
      }
    }
  }
  std::erase_if(fresh, [&](const SlotPair* slot) {
    return known.contains(slot->any().index) && is_list_of_other_length(ops, slot->any().index);
  });
  enter_each_kind(ops, fresh);
}

bool is_kept_otherwise(const OpPair& ops, const SlotPair& slot) {
  if (slot.match != Match::metadata || slot.role() != Role::input ||
      !(ops.event(Side::reference).flags & event_flag::in_backward))
    return false;
  return std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    const Slot& one = *slot.of(side);
    const HeldEvent op = outermost_writer(ops.scene, side, one);
    if (op.event == nullptr || op.event->position == one.writer ||
        (op.event->flags & event_flag::in_backward))
      return false;
    return std::none_of(op.event->slots.begin(), op.event->slots.end(), [&](const Slot& given) {
      return given.role != Role::input && given.storage == one.storage;
    });
  });
}

}  // namespace ulpscope::comparison
