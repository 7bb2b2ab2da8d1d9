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

void AloneMemory::note_read(const Slot& slot) {
  if (const auto known = read_.find(slot.storage); known != read_.end()) known->second = true;
}

bool AloneMemory::is_unread(const Slot& slot) const {
  const auto known = read_.find(slot.storage);
  return known != read_.end() && !known->second;
}

}  // namespace ulpscope::comparison
