#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ring/message.hpp"
#include "ulpscope/run.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {

/// Whether events of this kind have values that another run has at the same time.
[[nodiscard]] constexpr bool has_values_in_time(EventKind kind) noexcept {
  return kind != EventKind::outcome;
}

/// Of slots whose bytes mean something.
[[nodiscard]] constexpr bool is_value(std::uint32_t flags) noexcept {
  constexpr std::uint32_t kAside = slot_flag::undefined | slot_flag::no_digest |
                                   slot_flag::uninitialised | slot_flag::overwritten |
                                   slot_flag::scratch | slot_flag::handle | slot_flag::opaque |
                                   slot_flag::metadata_only;
  return (flags & kAside) == 0;
}

/// Calls `use` with the position of each event among the messages and the slot of each of its
/// values.
template <class Use>
void for_each_value(std::span<const std::byte> messages, Use&& use) {
  for_each_message(messages, [&](std::span<const std::byte> message) {
    if (kind_of(message) != ring::MessageKind::event) return;
    const auto event = read_row<ring::EventRow>(message);
    if (!event || !has_values_in_time(static_cast<EventKind>(event->kind))) return;
    std::span<const std::byte> slots = message.subspan(sizeof *event);
    for (std::uint16_t k = 0; k < event->slots; ++k) {
      const auto slot = read_row<ring::SlotRow>(slots);
      if (!slot) return;
      slots = slots.subspan(sizeof *slot);
      if (is_value(slot->flags)) use(event->position, *slot);
    }
  });
}

}  // namespace ulpscope::writer
