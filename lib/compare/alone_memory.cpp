#include "compare/alone_memory.hpp"

#include <algorithm>

#include "compare/extent.hpp"

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
    if (const auto known = readers_.find(slot.storage); known != readers_.end())
      known->second = Reader::none;
    else if (slot.role != Role::output || is_given(slot.storage))
      continue;
    else if (readers_.size() >= kKept)
      overflowed_ = true;
    else
      readers_.emplace(slot.storage, Reader::none);
  }
}

void AloneMemory::changed(const Event& op) {
  for (const Slot& slot : op.slots) {
    if (slot.role == Role::input || slot.storage == kNone || !writes(slot) || made(slot)) continue;
    if (changed_.size() >= kKept) {
      overflowed_ = true;
      return;
    }
    const auto [at, is_first] = changed_.try_emplace(slot.storage);
    const Extent written = extent(slot);
    at->second.begin = is_first ? written.begin : std::min(at->second.begin, written.begin);
    at->second.end = is_first ? written.end : std::max(at->second.end, written.end);
    if (is_first)
      for (const Slot& input : op.slots)
        if (input.role == Role::input && input.storage == slot.storage &&
            !(input.flags & slot_flag::no_digest))
          at->second.before = content_of(input);
    at->second.now = content_of(slot);
  }
}

std::vector<AloneMemory::Change> AloneMemory::changes() const {
  std::vector<Change> changes;
  for (const auto& [storage, changed] : changed_)
    if (changed.before != changed.now) changes.push_back({storage, changed.now});
  return changes;
}

void AloneMemory::read(const Window& window, std::uint32_t item, bool has_partner) {
  if (readers_.empty() && changed_.empty()) return;
  const Reader reader = has_partner ? Reader::partnered : Reader::alone;
  const bool op = window.event(item).kind == EventKind::op;
  for (std::uint32_t index = item; index < (op ? window.end(item) : item + 1); ++index) {
    const Event& event = window.event(index);
    if (event.flags & event_flag::view) continue;
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input) continue;
      if (const auto known = readers_.find(slot.storage); known != readers_.end())
        known->second = std::max(known->second, reader);
      const auto changed = changed_.find(slot.storage);
      if (!has_partner || changed == changed_.end()) continue;
      const Extent given = extent(slot);
      if (given.begin < changed->second.end && changed->second.begin < given.end)
        changed_.erase(changed);
    }
  }
}

}  // namespace ulpscope::comparison
