#include "compare/diff/taint.hpp"

#include <algorithm>
#include <utility>

#include "compare/model/extent.hpp"

namespace ulpscope::comparison {

void TaintTable::taint(const Slot& slot, const Source& source, std::int64_t step) {
  if (slot.storage == kNone) return;
  const Extent extent_of_slot = extent(slot);
  if (extent_of_slot.begin == extent_of_slot.end) return;
  const auto [at, inserted] = storages_.try_emplace(slot.storage);
  Storage& storage = at->second;
  if (inserted) storage.first_step = step;
  storage.last_step = step;
  std::erase_if(storage.ranges, [&](const Range& range) {
    return range.begin >= extent_of_slot.begin && range.end <= extent_of_slot.end;
  });
  storage.ranges.push_back({extent_of_slot.begin, extent_of_slot.end, source, slot.writes});
}

void TaintTable::clear(const Slot& slot) {
  const auto at = storages_.find(slot.storage);
  if (at == storages_.end()) return;
  const Extent equal = extent(slot);
  if (!equal.without_gaps) return;
  std::vector<Range> rest;
  for (const Range& range : at->second.ranges) {
    const bool is_apart = range.end <= equal.begin || range.begin >= equal.end;
    if (is_apart || range.writes > slot.writes) {
      rest.push_back(range);
      continue;
    }
    if (range.begin < equal.begin)
      rest.push_back({range.begin, equal.begin, range.source, range.writes});
    if (range.end > equal.end) rest.push_back({equal.end, range.end, range.source, range.writes});
  }
  at->second.ranges = std::move(rest);
  if (at->second.ranges.empty()) storages_.erase(at);
}

std::optional<Source> TaintTable::find(const Slot& slot, std::int64_t step) {
  const auto at = storages_.find(slot.storage);
  if (at == storages_.end()) return std::nullopt;
  const Extent wanted = extent(slot);
  at->second.last_step = std::max(at->second.last_step, step);
  for (const Range& range : at->second.ranges)
    if (range.begin < wanted.end && range.end > wanted.begin) return range.source;
  return std::nullopt;
}

bool TaintTable::purge(std::int64_t step) {
  if (storages_.size() <= capacity_) return false;
  std::erase_if(storages_, [&](const auto& entry) {
    const Storage& storage = entry.second;
    return storage.last_step + 1 < step && storage.first_step == storage.last_step;
  });
  if (storages_.size() > capacity_)
    std::erase_if(storages_, [&](const auto& entry) { return entry.second.last_step + 1 < step; });
  return true;
}

}  // namespace ulpscope::comparison
