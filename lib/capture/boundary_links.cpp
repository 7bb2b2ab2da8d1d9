#include "capture/boundary_links.hpp"

#include <algorithm>

#include "capture/memory.hpp"

namespace ulpscope::capture {

BoundaryLinks::BoundaryLinks(std::pmr::memory_resource& memory, std::size_t rows_at_first,
                             std::size_t most_rows)
    : most_rows_(most_rows), rows_(rows_at_first, &memory) {}

BoundaryLinks::Entry& BoundaryLinks::oldest(Row& row) noexcept {
  return *std::min_element(row.begin(), row.end(),
                           [](const Entry& a, const Entry& b) { return a.order < b.order; });
}

void BoundaryLinks::add(const Key& key, const Boundary& boundary) {
  const std::lock_guard guard(mutex_);
  Entry* entry = &oldest(row_of(key.thread, key.sequence));
  while (entry->order != 0 && !entry->found && rows_.size() < most_rows_) {
    grow();
    entry = &oldest(row_of(key.thread, key.sequence));
  }
  *entry = {key, ++added_, boundary, false};
}

void BoundaryLinks::grow() {
  std::pmr::vector<Row> old(rows_.size() * 2, rows_.get_allocator());
  old.swap(rows_);
  for (const Row& row : old)
    for (const Entry& entry : row)
      if (entry.order != 0) oldest(row_of(entry.key.thread, entry.key.sequence)) = entry;
}

void BoundaryLinks::find(std::uint64_t thread, std::uint64_t sequence,
                         std::pmr::vector<std::pair<Key, Boundary>>& found) {
  found.clear();
  const std::lock_guard guard(mutex_);
  std::array<Entry*, std::tuple_size_v<Row>> matching{};
  std::size_t count = 0;
  for (Entry& entry : row_of(thread, sequence))
    if (entry.order != 0 && entry.key.thread == thread && entry.key.sequence == sequence)
      matching[count++] = &entry;
  std::sort(matching.begin(), matching.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Entry* a, const Entry* b) { return a->order < b->order; });
  for (std::size_t i = 0; i < count; ++i) {
    found.emplace_back(matching[i]->key, matching[i]->boundary);
    matching[i]->found = true;
  }
}

void BoundaryLinks::clear() {
  const std::lock_guard guard(mutex_);
  std::fill(rows_.begin(), rows_.end(), Row{});
}

BoundaryLinks& boundary_links() {
  constexpr std::size_t kRowsAtFirst = 256;
  constexpr std::size_t kMostRows = 4096;
  static BoundaryLinks& instance =
      immortal<BoundaryLinks>(process_memory(), kRowsAtFirst, kMostRows);
  return instance;
}

}  // namespace ulpscope::capture
