#include "compare/align/window_alignment.hpp"

#include "compare/align/call_alignment.hpp"
#include "compare/align/dropped_gradients.hpp"
#include "compare/align/item_elements.hpp"
#include "compare/align/moved_items.hpp"
#include "compare/align/relaxed_pass.hpp"
#include "compare/align/setup_order.hpp"
#include "compare/align/shared_calls.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/call_key.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

template <class Takes>
[[nodiscard]] ItemLists items_of(const WindowPair& windows, const Takes& takes) {
  ItemLists items;
  for (const Side side : kSides)
    for (std::uint32_t item = 0; item < windows.item_count(side); ++item)
      if (takes(windows.event_of(side, item))) on(items, side).push_back(item);
  return items;
}

/// Aligns the items of two windows in two rounds: what runs outside of backward first, then
/// everything, with backward tied to its forward ops.
class WindowAligner {
 public:
  WindowAligner(const WindowPair& windows, const ForwardId& forward, const StoragePairs& storages,
                bool several_steps, const AlignmentLimits& limits)
      : windows_(windows),
        storages_(storages),
        limits_(limits),
        several_steps_(several_steps),
        ties_(windows, forward),
        setup_(windows) {}

  [[nodiscard]] WindowAlignment run() {
    WindowAlignment result = is_same_throughout() ? align_one_to_one() : align_all(MovedItems());
    const MovedItems moved = find_moved_items(windows_, storages_, result.entries);
    if (moved.empty()) return result;
    result = align_all(moved);
    // What comes after a piece of a step may be in either run's order.
    if (windows_.window(Side::reference).last() && windows_.window(Side::candidate).last())
      result.entries = moved.with_moved(result.entries);
    return result;
  }

 private:
  [[nodiscard]] bool is_same_throughout() const {
    if (windows_.item_count(Side::reference) != windows_.item_count(Side::candidate)) return false;
    CallKeys calls;
    const auto are_other_calls = [](std::uint64_t one, std::uint64_t other) {
      return one != 0 && other != 0 && one != other;
    };
    for (std::uint32_t i = 0; i < windows_.item_count(Side::reference); ++i) {
      const Event& a = windows_.event_of(Side::reference, i);
      const Event& b = windows_.event_of(Side::candidate, i);
      if (!same_structure(a, b, Place::counts)) return false;
      if (a.stack != b.stack && are_other_calls(calls.of(a.stack), calls.of(b.stack))) return false;
      if (is_of_forward_event(a) &&
          windows_.forward_item(Side::reference, a) != windows_.forward_item(Side::candidate, b))
        return false;
    }
    return true;
  }

  [[nodiscard]] WindowAlignment align_one_to_one() const {
    WindowAlignment result;
    const std::uint32_t count = windows_.item_count(Side::reference);
    result.operations = count;
    result.entries.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) result.entries.push_back({i, i, false});
    return result;
  }

  [[nodiscard]] WindowAlignment align_all(const MovedItems& moved) {
    const DroppedGradients dropped(windows_);
    const ItemElements elements(windows_, dropped, ties_, setup_, moved, several_steps_);
    const ItemCalls calls = calls_of_items(windows_);
    const ItemLists outside =
        items_of(windows_, [](const Event& event) { return !in_backward(event); });
    const SequenceAlignment forward_part = align_by_calls(
        calls, outside,
        [&](Side side, std::uint32_t item, std::uint64_t call) {
          return elements.untied(side, item, call);
        },
        limits_);
    ties_.number_partners(outside, forward_part);
    const SequenceAlignment whole = align_by_calls(
        calls, items_of(windows_, [](const Event&) { return true; }),
        [&](Side side, std::uint32_t item, std::uint64_t call) {
          return elements.tied(side, item, call);
        },
        limits_);
    WindowAlignment result;
    result.operations = forward_part.operations + whole.operations;
    result.given_up = whole.given_up;
    result.entries = entries_from(whole.pairs, windows_.item_count(Side::reference),
                                  windows_.item_count(Side::candidate));
    setup_.note_alone(result.entries);
    pair_by_name(result.entries, relaxed_items(elements, calls));
    return result;
  }

  [[nodiscard]] RelaxedItems relaxed_items(const ItemElements& elements,
                                           const ItemCalls& calls) const {
    return {[&](const ItemLists& stretch) {
              return
                  [&elements, shared = SharedCalls(calls, stretch)](Side side, std::uint32_t item) {
                    return elements.relaxed(side, item, shared.of(side, item));
                  };
            },
            [this](Side side, std::uint32_t item) -> const Event& {
              return windows_.event_of(side, item);
            }};
  }

  const WindowPair& windows_;
  const StoragePairs& storages_;
  AlignmentLimits limits_;
  bool several_steps_;
  ForwardTies ties_;
  SetupOrder setup_;
};

}  // namespace

WindowAlignment align(const Window& reference, const Window& candidate,
                      const Both<std::uint32_t>& lanes, const ForwardId& forward,
                      const StoragePairs& storages, bool several_steps,
                      const AlignmentLimits& limits) {
  const WindowPair windows(reference, candidate, lanes);
  return WindowAligner(windows, forward, storages, several_steps, limits).run();
}

}  // namespace ulpscope::comparison
