#pragma once

#include <utility>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Owns what the events of a changed block refer to: the block they come from, and the slots that
/// differ from those in there.
class ChangedBlock {
 public:
  explicit ChangedBlock(Block whole) : whole_(std::move(whole)) {}

  [[nodiscard]] const Block& whole() const noexcept { return whole_; }

  /// Gives an event slots of its own, a copy of those it has.
  std::vector<Slot>& own_slots(Event& event) {
    std::vector<Slot>& slots = slots_.emplace_back(event.slots.begin(), event.slots.end());
    event.slots = slots;
    return slots;
  }

 private:
  Block whole_;
  std::vector<std::vector<Slot>> slots_;
};

}  // namespace ulpscope::comparison
