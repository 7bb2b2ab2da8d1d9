#include "compare/align/op_comparison.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "compare/align/argument_pairs.hpp"
#include "compare/align/equivalent_arguments.hpp"
#include "compare/align/inner_alignment.hpp"
#include "compare/model/structure.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// Nesting beyond this is not followed: a dump can be made to claim any depth.
constexpr std::size_t kDeepestOp = 256;

[[nodiscard]] auto slot_id(const Slot& slot) noexcept {
  return std::tuple(slot.role, slot.index, slot.element);
}

[[nodiscard]] bool meant_to_be_compared(const Slot& slot) noexcept {
  constexpr std::uint32_t kAside = slot_flag::undefined | slot_flag::overwritten |
                                   slot_flag::scratch | slot_flag::view | slot_flag::metadata_only;
  return !(slot.flags & kAside);
}

void compare_by_id(const Event& reference, const Event& candidate, std::vector<SlotPair>& slots) {
  for (const Slot& slot : reference.slots) {
    const auto partner =
        std::find_if(candidate.slots.begin(), candidate.slots.end(),
                     [&](const Slot& other) { return slot_id(other) == slot_id(slot); });
    if (partner != candidate.slots.end())
      slots.push_back({&slot, &*partner, match(slot, *partner), &reference});
    else if (meant_to_be_compared(slot))
      slots.push_back({&slot, nullptr, Match::one_sided, &reference});
  }
  for (const Slot& slot : candidate.slots) {
    const bool known =
        std::any_of(reference.slots.begin(), reference.slots.end(),
                    [&](const Slot& other) { return slot_id(other) == slot_id(slot); });
    if (!known && meant_to_be_compared(slot))
      slots.push_back({nullptr, &slot, Match::one_sided, &candidate});
  }
}

[[nodiscard]] bool same_strides(const Event& reference, const Event& candidate) {
  return std::equal(reference.slots.begin(), reference.slots.end(), candidate.slots.begin(),
                    candidate.slots.end(), [](const Slot& a, const Slot& b) {
                      return a.role != Role::input || a.geometry == nullptr ||
                             b.geometry == nullptr || a.geometry->strides == b.geometry->strides;
                    });
}

/// Arguments that choose the device or layout of a result, not its content.
[[nodiscard]] bool is_placement(const Event& reference, const Event& candidate,
                                std::string_view argument) {
  static constexpr std::array<std::string_view, 4> kPlacement{"device", "memory_format",
                                                              "non_blocking", "pin_memory"};
  if (std::find(kPlacement.begin(), kPlacement.end(), argument) != kPlacement.end()) return true;
  if (argument != "stride") return false;
  if (facts::Op(reference.op).has(facts::fact::factory)) return true;
  return reference.op == "aten::as_strided" && !same_strides(reference, candidate);
}

[[nodiscard]] bool same_event_inside(const Window& reference, std::uint32_t a,
                                     const Window& candidate, std::uint32_t b, EventPair outer) {
  if (reference.end(a) - outer.reference != candidate.end(b) - outer.candidate) return false;
  return same_structure(reference.event(a), candidate.event(b), Place::ignored);
}

[[nodiscard]] std::vector<std::uint32_t> direct_children(const Window& window,
                                                         std::uint32_t index) {
  std::vector<std::uint32_t> children;
  for (std::uint32_t child = index + 1; child < window.end(index); child = window.end(child))
    children.push_back(child);
  return children;
}

}  // namespace

void compare_slots(const Event& reference, const Event& candidate, std::vector<SlotPair>& slots) {
  slots.clear();
  const bool in_parallel = std::equal(
      reference.slots.begin(), reference.slots.end(), candidate.slots.begin(),
      candidate.slots.end(), [](const Slot& a, const Slot& b) { return slot_id(a) == slot_id(b); });
  if (!in_parallel) return compare_by_id(reference, candidate, slots);
  for (std::size_t k = 0; k < reference.slots.size(); ++k) {
    const Slot& a = reference.slots[k];
    const Slot& b = candidate.slots[k];
    slots.push_back({&a, &b, match(a, b), &reference});
  }
  if (!gives_memory(reference)) return;
  for (SlotPair& slot : slots) slot.match = Match::aside;
}

ArgumentDifferences compare_arguments(const Event& reference, const Event& candidate) {
  ArgumentDifferences differences;
  if (gives_memory(reference)) return differences;
  const auto& a = reference.argument_bytes;
  const auto& b = candidate.argument_bytes;
  if (std::equal(a.begin(), a.end(), b.begin(), b.end())) return differences;

  // Each overload has places of its own, and what the other one has by default.
  const bool same_overload = reference.overload == candidate.overload;
  const auto same_place = [&](const Argument& one, const Argument& other) {
    return one.result == other.result &&
           (same_overload ? one.index == other.index : one.name == other.name);
  };
  const auto is_the_same = [&](const ArgumentReport& report) {
    return report.reference && report.candidate ? say_the_same(reference, candidate, report.name,
                                                               *report.reference, *report.candidate)
                                                : !same_overload && report.name != "generator" &&
                                                      give_the_same(reference, candidate);
  };
  const auto enter = [&](const Argument& argument, ArgumentReport report) {
    if (!argument.result && is_the_same(report)) return;
    auto& list = argument.result                                     ? differences.results
                 : is_placement(reference, candidate, argument.name) ? differences.placement
                                                                     : differences.values;
    list.push_back(std::move(report));
  };
  for_each_other_argument(arguments(reference), arguments(candidate), same_place, enter);
  return differences;
}

void InsideComparison::compare(const Window& reference, const Window& candidate, EventPair outer) {
  pairs_.clear();
  alone_.reference.clear();
  alone_.candidate.clear();
  same_ = true;

  const std::uint32_t count = reference.end(outer.reference) - outer.reference;
  bool in_parallel = count == candidate.end(outer.candidate) - outer.candidate;
  for (std::uint32_t k = 1; in_parallel && k < count; ++k)
    in_parallel =
        same_event_inside(reference, outer.reference + k, candidate, outer.candidate + k, outer);
  if (in_parallel) {
    for (std::uint32_t k = 1; k < count; ++k)
      pairs_.push_back({outer.reference + k, outer.candidate + k});
    return;
  }
  same_ = false;
  pair_by_alignment(reference, candidate, outer, 0);
}

void InsideComparison::pair_by_alignment(const Window& reference, const Window& candidate,
                                         EventPair outer, std::size_t depth) {
  const auto leave_alone = [](const Window& window, std::uint32_t event,
                              std::vector<std::uint32_t>& alone) {
    for (std::uint32_t index = event; index < window.end(event); ++index) alone.push_back(index);
  };
  const std::vector<Entry> entries =
      align_inner(reference, direct_children(reference, outer.reference), candidate,
                  direct_children(candidate, outer.candidate));
  for (const Entry& entry : entries) {
    if (entry.aligned() && depth < kDeepestOp) {
      pairs_.push_back({entry.reference, entry.candidate});
      pair_by_alignment(reference, candidate, pairs_.back(), depth + 1);
      continue;
    }
    if (entry.reference != kNoIndex) leave_alone(reference, entry.reference, alone_.reference);
    if (entry.candidate != kNoIndex) leave_alone(candidate, entry.candidate, alone_.candidate);
  }
}

bool same_inputs(const Event& reference, const Event& candidate) {
  std::vector<SlotPair> slots;
  compare_slots(reference, candidate, slots);
  for (const SlotPair& slot : slots) {
    if (slot.role() != Role::input || !is_difference(slot.match)) continue;
    const std::uint32_t flags =
        (slot.reference ? slot.reference->flags : 0) | (slot.candidate ? slot.candidate->flags : 0);
    if (slot.match == Match::differs && (flags & slot_flag::uninitialised)) continue;
    return false;
  }
  return compare_arguments(reference, candidate).values.empty();
}

bool different_outputs(const Event& reference, const Event& candidate) {
  std::vector<SlotPair> slots;
  compare_slots(reference, candidate, slots);
  return std::any_of(slots.begin(), slots.end(),
                     [](const SlotPair& slot) {
                       return slot.role() != Role::input && is_difference(slot.match);
                     }) ||
         !compare_arguments(reference, candidate).results.empty();
}

Origin find_origin(const Window& reference, const Window& candidate, EventPair outer) {
  Origin origin{outer, false};
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
  for (std::size_t depth = 0; depth < kDeepestOp; ++depth) {
    reference.inner_ops(origin.at.reference, left);
    candidate.inner_ops(origin.at.candidate, right);
    EventPair deeper;
    for (const Entry& entry : align_inner(reference, left, candidate, right)) {
      if (!entry.aligned() || entry.relaxed) {
        origin.inside_differs = true;
        break;
      }
      const Event& a = reference.event(entry.reference);
      const Event& b = candidate.event(entry.candidate);
      if (!different_outputs(a, b)) continue;
      if (same_inputs(a, b)) deeper = {entry.reference, entry.candidate};
      break;
    }
    if (deeper.reference == kNoIndex) return origin;
    origin.at = deeper;
  }
  return origin;
}

}  // namespace ulpscope::comparison
