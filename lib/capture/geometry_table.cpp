#include "capture/geometry_table.hpp"

namespace ulpscope::capture {
namespace {

class Hash {
 public:
  void add(std::int64_t word) noexcept {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 29;
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

std::uint64_t hash_of(const GeometryWords& words) noexcept {
  Hash hash;
  for (const std::int64_t word : words.head) hash.add(word);
  for (const std::int64_t word : words.sizes) hash.add(word);
  for (const std::int64_t word : words.strides) hash.add(word);
  return hash.get();
}

/// Geometries have few dimensions: not worth a call of memcmp.
bool equal(std::span<const std::int64_t> words, const std::int64_t* others) noexcept {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] != others[i]) return false;
  return true;
}

}  // namespace

bool GeometryTable::is_at(const Slot& slot, const GeometryWords& words) const noexcept {
  if (slot.length != words.count()) return false;
  const std::int64_t* known = words_.data() + slot.begin;
  return equal(words.head, known) && equal(words.sizes, known + words.head.size()) &&
         equal(words.strides, known + words.head.size() + words.sizes.size());
}

GeometryTable::Found GeometryTable::number(const GeometryWords& words) {
  if (is_at(latest_, words)) return {latest_.id, false};
  const std::uint64_t hash = hash_of(words);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != 0; at = (at + 1) & mask)
    if (slots_[at].hash == hash && is_at(slots_[at], words)) {
      latest_ = slots_[at];
      return {latest_.id, false};
    }
  latest_ = {hash, ++count_, static_cast<std::uint32_t>(words.count()), words_.size()};
  slots_[at] = latest_;
  words_.insert(words_.end(), words.head.begin(), words.head.end());
  words_.insert(words_.end(), words.sizes.begin(), words.sizes.end());
  words_.insert(words_.end(), words.strides.begin(), words.strides.end());
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
