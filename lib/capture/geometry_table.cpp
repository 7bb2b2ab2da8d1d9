#include "capture/geometry_table.hpp"

#include <utility>

namespace ulpscope::capture {
namespace {

constexpr std::size_t kHead = 2;  // words before the sizes

/// All that fits in one word.
std::int64_t kind_of(const Geometry& geometry) noexcept {
  return static_cast<std::int64_t>(geometry.dtype) |
         static_cast<std::int64_t>(geometry.device_type) << 8 |
         static_cast<std::int64_t>(static_cast<std::uint8_t>(geometry.device_index)) << 16 |
         static_cast<std::int64_t>(geometry.layout) << 24 |
         static_cast<std::int64_t>(geometry.flags) << 32 |
         static_cast<std::int64_t>(geometry.has_strides) << 48;
}

std::size_t words_of(const Geometry& geometry) noexcept {
  return kHead + geometry.sizes.size() + geometry.strides.size();
}

std::uint64_t mix(std::uint64_t hash, std::int64_t word) noexcept {
  hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

/// Sizes and strides separately: a processor computes both at once.
std::uint64_t hash_of(std::int64_t kind, const Geometry& geometry) noexcept {
  std::uint64_t of_sizes = static_cast<std::uint64_t>(kind);
  std::uint64_t of_strides = static_cast<std::uint64_t>(geometry.storage_offset);
  for (const std::int64_t size : geometry.sizes) of_sizes = mix(of_sizes, size);
  for (const std::int64_t stride : geometry.strides) of_strides = mix(of_strides, stride);
  return mix(of_sizes, static_cast<std::int64_t>(of_strides));
}

/// Geometries have few dimensions: not worth a call of memcmp.
bool equal(std::span<const std::int64_t> words, const std::int64_t* others) noexcept {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] != others[i]) return false;
  return true;
}

}  // namespace

bool GeometryTable::is_at(const Slot& slot, std::int64_t kind,
                          const Geometry& geometry) const noexcept {
  if (slot.length != words_of(geometry)) return false;
  const std::int64_t* known = words_.data() + slot.begin;
  return known[0] == kind && known[1] == geometry.storage_offset &&
         equal(geometry.sizes, known + kHead) &&
         equal(geometry.strides, known + kHead + geometry.sizes.size());
}

GeometryTable::Found GeometryTable::number(const Geometry& geometry) {
  const std::int64_t kind = kind_of(geometry);
  const std::uint64_t hash = hash_of(kind, geometry);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != 0; at = (at + 1) & mask)
    if (slots_[at].hash == hash && is_at(slots_[at], kind, geometry)) return {slots_[at].id, false};
  slots_[at] = {hash, ++count_, static_cast<std::uint32_t>(words_of(geometry)), words_.size()};
  words_.insert(words_.end(), {kind, geometry.storage_offset});
  words_.insert(words_.end(), geometry.sizes.begin(), geometry.sizes.end());
  words_.insert(words_.end(), geometry.strides.begin(), geometry.strides.end());
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
