#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace ulpscope::capture {

/// Sizes and strides, and everything else that distinguishes geometries, in words.
struct GeometryWords {
  std::array<std::int64_t, 2> head;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;

  [[nodiscard]] std::size_t count() const noexcept {
    return head.size() + sizes.size() + strides.size();
  }
};

/// Numbers the geometries of a ring, from 1. Open addressing; their words are contiguous in one
/// block of memory.
class GeometryTable {
 public:
  explicit GeometryTable(std::pmr::memory_resource* memory) : slots_(memory), words_(memory) {
    slots_.resize(1 << 10);
  }

  struct Found {
    std::uint32_t id = 0;
    bool added = false;
  };
  Found number(const GeometryWords& words);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;  ///< 0: free
    std::uint32_t length = 0;
    std::size_t begin = 0;
  };

  [[nodiscard]] bool is_at(const Slot& slot, const GeometryWords& words) const noexcept;
  void grow();

  std::pmr::vector<Slot> slots_;
  Slot latest_;  ///< the tensors of an op often have one geometry
  std::pmr::vector<std::int64_t> words_;
  std::uint32_t count_ = 0;
};

}  // namespace ulpscope::capture
