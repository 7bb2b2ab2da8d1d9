#include "compare/exchanged_tensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compare/budget/op_view.hpp"
#include "compare/producer.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Of one piece of a step: a program whose ops all come in another order is not searched through.
constexpr std::size_t kMostSearches = 64;

/// The item whose op wrote what a slot reads; kNoIndex where that is no op of the forward pass that
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

/// The op has written a result of its own, rather than handing on what it was given.
[[nodiscard]] bool leaves_own(const Window& window, std::uint32_t item) {
  const std::uint32_t op = window.items()[item].event;
  const std::uint64_t first = window.event(op).position;
  const std::uint64_t last = window.event(window.end(op) - 1).position;
  const auto slots = window.event(op).slots;
  return std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
    return slot.role != Role::input && slot.writer >= first && slot.writer <= last;
  });
}

/// The same numbers come of operands in another order.
[[nodiscard]] bool is_symmetric(const Event& event) {
  static constexpr auto kOps = std::to_array<std::string_view>({"add",
                                                                "mul",
                                                                "maximum",
                                                                "minimum",
                                                                "fmax",
                                                                "fmin",
                                                                "eq",
                                                                "ne",
                                                                "logical_and",
                                                                "logical_or",
                                                                "logical_xor",
                                                                "bitwise_and",
                                                                "bitwise_or",
                                                                "bitwise_xor",
                                                                "logaddexp",
                                                                "logaddexp2",
                                                                "hypot",
                                                                "dot",
                                                                "mse_loss",
                                                                "l1_loss",
                                                                "huber_loss",
                                                                "dist",
                                                                "smooth_l1_loss",
                                                                "cosine_similarity",
                                                                "isclose"});
  if (std::find(kOps.begin(), kOps.end(), budget::plain_name(event.op)) == kOps.end()) return false;
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
  reordered_.clear();
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

/// The number of the op that made what a slot reads, 0 where that is not known: where an op only
/// hands on what it was given in one of the runs, the one that made that.
std::uint64_t ExchangedTensorFinder::maker(const Scene& scene, Side side, const Slot& slot) const {
  constexpr int kMostCopies = 8;
  const Window& window = *on(scene.windows, side);
  std::uint32_t item = writing_item(scene, side, slot);
  for (int copies = 0; item != kNoIndex && copies < kMostCopies; ++copies) {
    const std::uint64_t number = on(scene.partners, side)[item];
    if (both_leave_own(scene, number)) return number;
    const auto given = window.event(window.items()[item].event).slots;
    const auto input = std::find_if(given.begin(), given.end(),
                                    [](const Slot& one) { return one.role == Role::input; });
    item = input == given.end() ? kNoIndex : writing_item(scene, side, *input);
  }
  return 0;
}

bool ExchangedTensorFinder::are_same(std::uint64_t reference, std::uint64_t candidate) const {
  return reference == candidate || reordered_.contains({reference, candidate});
}

/// The number of another op of `side` that reads here what the op of the other run reads; 0 where
/// there is none.
std::uint64_t ExchangedTensorFinder::does_the_same(const Scene& scene, Side side, EventPair at,
                                                   const std::vector<Written>& written) const {
  const Window& window = *on(scene.windows, side);
  const Event& like = window.event(side == Side::reference ? at.reference : at.candidate);
  for (std::uint32_t item = 0; item < window.items().size(); ++item) {
    const Event& event = window.event(window.items()[item].event);
    if (!window.items()[item].op || event.op != like.op || event.overload != like.overload ||
        event.position == like.position)
      continue;
    const bool same = std::all_of(written.begin(), written.end(), [&](const Written& one) {
      const Slot* const slot = same_slot(event, one.slot->any());
      const std::uint64_t number = slot ? maker(scene, side, *slot) : 0;
      if (number == 0) return false;
      return side == Side::reference ? are_same(number, one.by.candidate)
                                     : are_same(one.by.reference, number);
    });
    if (same) return on(scene.partners, side)[item];
  }
  return 0;
}

ExchangedTensors ExchangedTensorFinder::find(const Scene& scene, EventPair at,
                                             const std::vector<const SlotPair*>& slots) {
  if (generation_ != scene.generation) begin(scene);
  std::vector<Written> exchanged;
  Both<std::vector<std::uint64_t>> all;
  for (const SlotPair* slot : slots) {
    const Both<std::uint64_t> by{maker(scene, Side::reference, *slot->reference),
                                 maker(scene, Side::candidate, *slot->candidate)};
    if (by.reference == 0 || by.candidate == 0) continue;
    all.reference.push_back(by.reference);
    all.candidate.push_back(by.candidate);
    if (!are_same(by.reference, by.candidate)) exchanged.push_back({slot, by});
  }
  if (exchanged.empty() || ++searches_ > kMostSearches) return {};
  for (const Side side : kSides) std::sort(on(all, side).begin(), on(all, side).end());
  const bool same_set = all.reference == all.candidate;
  const Event& event = scene.windows.reference->event(at.reference);
  if (same_set && is_symmetric(event)) return {};

  const std::uint64_t in_candidate = does_the_same(scene, Side::candidate, at, exchanged);
  const std::uint64_t in_reference = does_the_same(scene, Side::reference, at, exchanged);
  if (in_candidate != 0 && in_reference != 0) {
    const std::uint64_t own =
        scene.partners.reference[scene.windows.reference->item_of(at.reference)];
    reordered_.insert({own, in_candidate});
    reordered_.insert({in_reference, own});
    return {};
  }
  ExchangedTensors found{{}, same_set};
  for (const Written& one : exchanged)
    found.tensors.push_back({one.slot,
                             {words(producer(scene, Side::reference, *one.slot->reference)),
                              words(producer(scene, Side::candidate, *one.slot->candidate))}});
  return found;
}

}  // namespace ulpscope::comparison
