#include "capture/boundary_links.hpp"

#include <algorithm>

#include "capture/memory.hpp"

namespace ulpscope::capture {

void BoundaryLinks::add(const Key& key, const Boundary& boundary) {
  const std::lock_guard guard(mutex_);
  Row& row = row_of(key.thread, key.sequence);
  auto oldest = std::min_element(row.begin(), row.end(),
                                 [](const Entry& a, const Entry& b) { return a.order < b.order; });
  *oldest = {key, ++added_, boundary};
}

void BoundaryLinks::find(std::uint64_t thread, std::uint64_t sequence,
                         std::pmr::vector<std::pair<Key, Boundary>>& found) {
  found.clear();
  const std::lock_guard guard(mutex_);
  std::array<const Entry*, std::tuple_size_v<Row>> matching{};
  std::size_t count = 0;
  for (const Entry& entry : row_of(thread, sequence))
    if (entry.key.thread == thread && entry.key.sequence == sequence) matching[count++] = &entry;
  std::sort(matching.begin(), matching.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Entry* a, const Entry* b) { return a->order < b->order; });
  for (std::size_t i = 0; i < count; ++i)
    found.emplace_back(matching[i]->key, matching[i]->boundary);
}

void BoundaryLinks::clear() {
  const std::lock_guard guard(mutex_);
  rows_.fill({});
}

BoundaryLinks& boundary_links() {
  static BoundaryLinks& instance = immortal<BoundaryLinks>();
  return instance;
}

}  // namespace ulpscope::capture
