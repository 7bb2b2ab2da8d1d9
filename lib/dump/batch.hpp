#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dump/bytes.hpp"
#include "dump/names.hpp"
#include "ring/message.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// Messages of one consume(), copied out of reach of the process that sent them.
using Batch = std::vector<std::byte>;

/// An event message whose sizes and ids have been checked, in the batch it came in.
class HeldEvent {
 public:
  HeldEvent(std::shared_ptr<const Batch> batch, std::size_t offset) noexcept
      : batch_(std::move(batch)), bytes_(batch_->data() + offset) {}

  [[nodiscard]] const ring::EventRow& row() const noexcept {
    return *reinterpret_cast<const ring::EventRow*>(bytes_);
  }
  [[nodiscard]] std::span<const ring::SlotRow> slots() const noexcept {
    return {reinterpret_cast<const ring::SlotRow*>(bytes_ + sizeof(ring::EventRow)), row().slots};
  }
  [[nodiscard]] std::span<const std::byte> arguments() const noexcept {
    return {bytes_ + sizeof(ring::EventRow) + sizeof(ring::SlotRow) * row().slots,
            row().argument_bytes};
  }
  [[nodiscard]] std::span<const std::byte> message() const noexcept {
    return {bytes_, row().header.size};
  }

 private:
  std::shared_ptr<const Batch> batch_;
  const std::byte* bytes_;
};

/// Whether the sizes and ids of an event message are possible: everything later relies on it.
[[nodiscard]] bool is_sound(const RingNames& names, const HeldEvent& event,
                            std::size_t message_bytes);

/// Puts events in the order of their positions. Those of a tree nearly always have all the
/// positions from the first to the last, and are then put where they belong at once.
void sort_by_position(std::vector<HeldEvent>& events);

/// An event and the phase the timeline gave it.
struct PlacedEvent {
  HeldEvent event;
  Phase phase;
};

}  // namespace ulpscope::dump
