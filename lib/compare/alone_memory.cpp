#include "compare/alone_memory.hpp"

namespace ulpscope::comparison {

void AloneMemory::wrote(const Slot& slot) {
  any_ = true;
  if (slot.storage == kNone) return;
  const auto known = read_.find(slot.storage);
  if (known != read_.end()) {
    known->second = false;
    return;
  }
  if (slot.role != Role::output || slot.writes > 1) return;
  if (read_.size() >= kKept)
    overflowed_ = true;
  else
    read_.emplace(slot.storage, false);
}

void AloneMemory::note_read(const Slot& slot) {
  if (const auto known = read_.find(slot.storage); known != read_.end()) known->second = true;
}

bool AloneMemory::is_unread(const Slot& slot) const {
  const auto known = read_.find(slot.storage);
  return known != read_.end() && !known->second;
}

}  // namespace ulpscope::comparison
