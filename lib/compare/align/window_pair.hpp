#pragma once

#include <cstdint>

#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

[[nodiscard]] inline bool in_backward(const Event& event) noexcept {
  return event.flags & event_flag::in_backward;
}

/// Backward runs it for an event of forward.
[[nodiscard]] inline bool is_of_forward_event(const Event& event) noexcept {
  return event.kind == EventKind::node || event.kind == EventKind::module_gradient;
}

/// A window of each run, which must outlive this, and the ids of their lanes.
class WindowPair {
 public:
  WindowPair(const Window& reference, const Window& candidate, const Both<std::uint32_t>& lanes)
      : windows_{&reference, &candidate}, lanes_(lanes) {}

  [[nodiscard]] const Window& window(Side side) const { return *on(windows_, side); }
  [[nodiscard]] std::uint32_t item_count(Side side) const {
    return static_cast<std::uint32_t>(window(side).items().size());
  }
  [[nodiscard]] const Event& event_of(Side side, std::uint32_t item) const {
    return window(side).event(window(side).items()[item].event);
  }

  /// The item of this window that holds the event at `place`, or kNoIndex.
  [[nodiscard]] std::uint32_t item_at(Side side, EventPlace place) const;
  /// The item of the forward op that backward runs `node` for, or kNoIndex.
  [[nodiscard]] std::uint32_t forward_item(Side side, const Event& node) const {
    return item_at(side, {node.forward_lane, node.forward});
  }
  /// The item that has last written the slot, or kNoIndex.
  [[nodiscard]] std::uint32_t writer_item(Side side, const Slot& slot) const {
    return item_at(side, {slot.writer_lane, slot.writer});
  }

  /// The innermost event around an item, itself included, that backward runs for one of forward;
  /// null outside of backward.
  [[nodiscard]] const Event* node_around(Side side, std::uint32_t item) const;

 private:
  Both<const Window*> windows_;
  Both<std::uint32_t> lanes_;
};

}  // namespace ulpscope::comparison
