#include "compare/align/window_pair.hpp"

namespace ulpscope::comparison {

std::uint32_t WindowPair::item_at(Side side, EventPlace place) const {
  if (place.position == kNone || place.lane != on(lanes_, side)) return kNoIndex;
  const std::uint32_t event = window(side).find(place.position);
  return event == kNoIndex ? kNoIndex : window(side).item_of(event);
}

const Event* WindowPair::node_around(Side side, std::uint32_t item) const {
  const Window& events = window(side);
  for (std::uint32_t index = events.items()[item].event; index != kNoIndex;
       index = events.parent(index))
    if (is_of_forward_event(events.event(index))) return &events.event(index);
  return nullptr;
}

}  // namespace ulpscope::comparison
