#include "compare/alone_memory.hpp"

#include <algorithm>

namespace ulpscope::comparison {

void AloneMemory::wrote(const Event& op) {
  const auto is_given = [&](std::uint64_t storage) {
    return std::any_of(op.slots.begin(), op.slots.end(), [&](const Slot& slot) {
      return slot.role == Role::input && slot.storage == storage;
    });
  };
  for (const Slot& slot : op.slots) {
    if (!writes(slot)) continue;
    any_ = true;
    if (slot.storage == kNone) continue;
    if (const auto known = read_.find(slot.storage); known != read_.end())
      known->second = false;
    else if (slot.role != Role::output || is_given(slot.storage))
      continue;
    else if (read_.size() >= kKept)
      overflowed_ = true;
    else
      read_.emplace(slot.storage, false);
  }
}

void AloneMemory::read(const Window& window, std::uint32_t item) {
  if (read_.empty()) return;
  const bool op = window.event(item).kind == EventKind::op;
  for (std::uint32_t index = item; index < (op ? window.end(item) : item + 1); ++index)
    for (const Slot& slot : window.event(index).slots)
      if (slot.role == Role::input)
        if (const auto known = read_.find(slot.storage); known != read_.end()) known->second = true;
}

bool AloneMemory::is_unread(const Slot& slot) const {
  const auto known = read_.find(slot.storage);
  return known != read_.end() && !known->second;
}

}  // namespace ulpscope::comparison
