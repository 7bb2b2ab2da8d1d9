#include "capture/geometry_table.hpp"

#include <algorithm>

namespace ulpscope::capture {
namespace {

std::uint64_t hash_of(std::span<const std::int64_t> words) noexcept {
  std::uint64_t hash = words.size();
  for (const std::int64_t word : words) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

GeometryTable::Found GeometryTable::number(std::span<const std::int64_t> words) {
  const std::uint64_t hash = hash_of(words);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.length == words.size() &&
        std::equal(words.begin(), words.end(),
                   words_.begin() + static_cast<std::ptrdiff_t>(slot.begin)))
      return {slot.id, false};
  }
  slots_[at] = {hash, ++count_, static_cast<std::uint32_t>(words.size()), words_.size()};
  words_.insert(words_.end(), words.begin(), words.end());
  const std::uint32_t id = count_;
  if (count_ * 2 > slots_.size()) grow();
  return {id, true};
}

void GeometryTable::grow() {
  std::pmr::vector<Slot> old = std::move(slots_);
  slots_ = std::pmr::vector<Slot>(old.size() * 2, old.get_allocator());
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace ulpscope::capture
