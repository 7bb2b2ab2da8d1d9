#include "dump/batch.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::dump {

bool is_sound(const RingNames& names, const HeldEvent& event, std::size_t message_bytes) {
  if (message_bytes < sizeof(ring::EventRow)) return false;
  const ring::EventRow& row = event.row();
  const std::size_t needed =
      sizeof row + sizeof(ring::SlotRow) * row.slots + std::size_t{row.argument_bytes};
  const auto is_sound_slot = [&](const ring::SlotRow& slot) {
    return slot.role <= static_cast<std::uint8_t>(Role::mutated) &&
           names.has_geometry(slot.geometry) && names.has_string(slot.name);
  };
  if (needed > message_bytes || row.position == ring::kNone) return false;
  const auto slots = event.slots();
  return row.kind >= static_cast<std::uint8_t>(EventKind::op) &&
         row.kind <= static_cast<std::uint8_t>(EventKind::outcome) && names.has_op(row.op) &&
         names.has_string(row.module) && names.has_string(row.root) &&
         names.has_string(row.module_type) && names.has_stack(row.stack) &&
         std::all_of(slots.begin(), slots.end(), is_sound_slot);
}

void sort_by_position(std::vector<HeldEvent>& events) {
  const auto position = [](const HeldEvent& event) { return event.row().position; };
  if (events.size() < 2) return;
  const auto [least, greatest] = std::ranges::minmax_element(events, {}, position);
  const std::uint64_t first = position(*least);
  bool gapless = position(*greatest) - first == events.size() - 1;
  for (std::size_t i = 0; gapless && i < events.size(); ++i) {
    for (std::size_t place = position(events[i]) - first; gapless && place != i;
         place = position(events[i]) - first) {
      gapless = position(events[place]) != position(events[i]);  // a process may send one twice
      std::swap(events[place], events[i]);
    }
  }
  if (!gapless) std::ranges::sort(events, {}, position);
}

}  // namespace ulpscope::dump
