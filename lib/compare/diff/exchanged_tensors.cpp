#include "compare/diff/exchanged_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/diff/producer.hpp"
#include "compare/model/words.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// Of one piece of a step: a program whose ops all come in a different order is not searched.
constexpr std::size_t kMostSearches = 64;

/// The item whose op wrote what a slot reads; kNoIndex if that is no op of the forward pass that
/// has a partner.
[[nodiscard]] std::uint32_t writing_item(const Scene& scene, Side side, const Slot& slot) {
  const Window& window = *on(scene.windows, side);
  if (slot.writer == kNone || slot.writer_lane != on(scene.lanes, side)->id) return kNoIndex;
  const std::uint32_t event = window.find(slot.writer);
  const std::uint32_t item = event == kNoIndex ? kNoIndex : window.item_of(event);
  if (item == kNoIndex || item >= on(scene.partners, side).size()) return kNoIndex;
  const bool forward = (window.event(event).flags & event_flag::in_backward) == 0;
  return window.items()[item].op && forward && on(scene.partners, side)[item] != 0 ? item
                                                                                   : kNoIndex;
}

/// The op has written a new result, rather than passing on its input.
[[nodiscard]] bool leaves_own(const Window& window, std::uint32_t item) {
  const std::uint32_t op = window.items()[item].event;
  const std::uint64_t first = window.event(op).position;
  const std::uint64_t last = window.event(window.end(op) - 1).position;
  const auto slots = window.event(op).slots;
  return std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
    return slot.role != Role::input && slot.writer >= first && slot.writer <= last;
  });
}

/// Operands in a different order give the same numbers.
[[nodiscard]] bool is_symmetric(const Event& event) {
  if (!facts::Op(event.op).has(facts::fact::symmetric)) return false;
  const std::vector<Argument> given = arguments(event);
  return std::none_of(given.begin(), given.end(), [](const Argument& argument) {
    return argument.name == "alpha" && number_in(argument.text) != 1.0;
  });
}

[[nodiscard]] const Slot* same_slot(const Event& event, const Slot& as) {
  const auto at = std::find_if(event.slots.begin(), event.slots.end(), [&](const Slot& slot) {
    return slot.role == as.role && slot.index == as.index && slot.element == as.element;
  });
  return at == event.slots.end() ? nullptr : &*at;
}

}  // namespace

void ExchangedTensorFinder::begin(const Scene& scene) {
  generation_ = scene.generation;
  moved_.clear();
  origins_.clear();
  searches_ = 0;
  candidates_.assign(scene.partners.reference.size() + 1, kNoIndex);
  for (std::uint32_t item = 0; item < scene.partners.candidate.size(); ++item)
    if (const std::uint64_t number = scene.partners.candidate[item];
        number > 0 && number < candidates_.size())
      candidates_[number] = item;
}

bool ExchangedTensorFinder::both_leave_own(const Scene& scene, std::uint64_t number) const {
  const auto reference = static_cast<std::uint32_t>(number - 1);
  return number < candidates_.size() && candidates_[number] != kNoIndex &&
         leaves_own(*scene.windows.reference, reference) &&
         leaves_own(*scene.windows.candidate, candidates_[number]);
}

/// Offsets in the result of a pair of ops mean the same in both runs.
bool ExchangedTensorFinder::are_laid_out_alike(const Scene& scene, std::uint64_t number) const {
  const auto result = [](const Window& window, std::uint32_t item) -> const Geometry* {
    const auto slots = window.event(window.items()[item].event).slots;
    const auto at = std::find_if(slots.begin(), slots.end(), [](const Slot& slot) {
      return slot.role != Role::input && slot.geometry != nullptr;
    });
    return at == slots.end() ? nullptr : at->geometry;
  };
  const Geometry* const a =
      result(*scene.windows.reference, static_cast<std::uint32_t>(number - 1));
  const Geometry* const b = result(*scene.windows.candidate, candidates_[number]);
  return a != nullptr && b != nullptr && a->storage_offset == b->storage_offset &&
         a->sizes == b->sizes && a->strides == b->strides;
}

/// If an op only passes on its input in one of the runs, what made that input.
ExchangedTensorFinder::Origin ExchangedTensorFinder::origin(const Scene& scene, Side side,
                                                            const Slot& slot) const {
  constexpr int kMostCopies = 8;
  constexpr std::uint32_t kState = slot_flag::parameter | slot_flag::buffer;
  Origin found;
  found.slot = &slot;
  if (slot.flags & kState) {
    found.name = slot.name;
    return found;
  }
  const Window& window = *on(scene.windows, side);
  std::uint32_t item = writing_item(scene, side, slot);
  const Slot* read = &slot;
  for (int copies = 0; item != kNoIndex && copies < kMostCopies; ++copies) {
    const std::uint64_t number = on(scene.partners, side)[item];
    if (both_leave_own(scene, number)) {
      found.maker = number;
      if (read->geometry != nullptr && are_laid_out_alike(scene, number))
        found.part = read->geometry->storage_offset;
      break;
    }
    const auto given = window.event(window.items()[item].event).slots;
    const auto input = std::find_if(given.begin(), given.end(),
                                    [](const Slot& one) { return one.role == Role::input; });
    if (input == given.end()) break;
    read = &*input;
    item = writing_item(scene, side, *input);
  }
  return found;
}

std::uint64_t ExchangedTensorFinder::in_reference(std::uint64_t candidate) const {
  const auto moved = origins_.find(candidate);
  return moved == origins_.end() ? candidate : moved->second;
}

bool ExchangedTensorFinder::are_same(const Origin& reference, const Origin& candidate) const {
  if (!reference.name.empty() || !candidate.name.empty()) return reference.name == candidate.name;
  if (reference.part != candidate.part) return false;
  const auto moved = moved_.find(reference.maker);
  return moved == moved_.end() ? reference.maker == in_reference(candidate.maker)
                               : moved->second == candidate.maker;
}

/// A different op of `side` whose inputs and arguments here are those of the other run's op there.
std::optional<std::uint32_t> ExchangedTensorFinder::does_the_same(const Scene& scene, Side side,
                                                                  EventPair at) const {
  const Side other = the_other(side);
  const Window& window = *on(scene.windows, side);
  const Event& like =
      on(scene.windows, other)->event(other == Side::reference ? at.reference : at.candidate);
  const std::uint32_t own = side == Side::reference ? at.reference : at.candidate;
  const auto is_given_the_same = [&](const Event& event) {
    return std::all_of(like.slots.begin(), like.slots.end(), [&](const Slot& wanted) {
      if (wanted.role != Role::input || (wanted.flags & slot_flag::undefined)) return true;
      const Slot* const slot = same_slot(event, wanted);
      if (slot == nullptr) return false;
      const bool equal = !(slot->flags & slot_flag::no_digest) && slot->digest == wanted.digest;
      const Origin here = origin(scene, side, *slot);
      const Origin there = origin(scene, other, wanted);
      if (!here.known() || !there.known()) return equal;
      return side == Side::reference ? are_same(here, there) : are_same(there, here);
    });
  };
  for (std::uint32_t item = 0; item < window.items().size(); ++item) {
    const std::uint32_t index = window.items()[item].event;
    const Event& event = window.event(index);
    if (window.items()[item].op && index != own && event.op == like.op &&
        event.overload == like.overload &&
        std::ranges::equal(event.argument_bytes, like.argument_bytes) && is_given_the_same(event))
      return item;
  }
  return std::nullopt;
}

ExchangedTensors ExchangedTensorFinder::find(const Scene& scene, EventPair at,
                                             const std::vector<const SlotPair*>& slots) {
  if (generation_ != scene.generation) begin(scene);
  const std::uint32_t own = scene.windows.reference->item_of(at.reference);
  if (own >= scene.partners.reference.size() || scene.partners.reference[own] == 0) return {};
  std::vector<const SlotPair*> exchanged;
  bool reads_others = false;
  Both<std::vector<std::pair<std::uint64_t, std::int64_t>>> all;
  for (const SlotPair* slot : slots) {
    const Origin left = origin(scene, Side::reference, *slot->reference);
    const Origin right = origin(scene, Side::candidate, *slot->candidate);
    if (!left.known() || !right.known()) continue;
    const bool same = are_same(left, right);
    reads_others = reads_others || !same;
    if (left.maker == 0 || right.maker == 0) continue;
    all.reference.emplace_back(left.maker, left.part);
    all.candidate.emplace_back(in_reference(right.maker), right.part);
    if (!same) exchanged.push_back(slot);
  }
  if (!reads_others || ++searches_ > kMostSearches) return {};
  for (const Side side : kSides) std::sort(on(all, side).begin(), on(all, side).end());
  const bool same_set = all.reference == all.candidate;
  if (same_set && is_symmetric(scene.windows.reference->event(at.reference))) return {};

  const auto in_candidate = does_the_same(scene, Side::candidate, at);
  const auto in_the_reference = does_the_same(scene, Side::reference, at);
  if (in_candidate && in_the_reference) {
    const std::uint64_t number = scene.partners.reference[own];
    if (const std::uint64_t there = scene.partners.candidate[*in_candidate]) {
      moved_[number] = there;
      origins_[there] = number;
    }
    if (const std::uint64_t here = scene.partners.reference[*in_the_reference]) {
      moved_[here] = number;
      origins_[number] = here;
    }
    return {};
  }
  ExchangedTensors found{{}, same_set};
  for (const SlotPair* slot : exchanged) {
    const auto given = [&](Side side, const Slot& one) {
      const Origin from = origin(scene, side, one);
      const std::string op = "result of " + words(producer(scene, side, one));
      return from.part == 0 ? op : fmt::format("{}, from element {}", op, from.part);
    };
    Both<std::string> both{given(Side::reference, *slot->reference),
                           given(Side::candidate, *slot->candidate)};
    if (both.reference == both.candidate) {
      const std::uint64_t number =
          in_reference(origin(scene, Side::candidate, *slot->candidate).maker);
      const std::uint32_t maker =
          scene.windows.reference->items()[static_cast<std::uint32_t>(number - 1)].event;
      both.candidate = fmt::format("result of {} of the reference",
                                   words(outermost_around(scene, Side::reference, maker)));
    }
    found.tensors.push_back({slot, std::move(both)});
  }
  return found;
}

}  // namespace ulpscope::comparison
