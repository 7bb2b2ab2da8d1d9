#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace ulpscope::capture {

/// What a tensor is but for its memory and its content.
struct Geometry {
  std::uint8_t dtype = 0;
  std::uint8_t device_type = 0;
  std::int8_t device_index = 0;
  std::uint8_t layout = 0;
  std::uint16_t flags = 0;  ///< geometry_flag
  bool has_strides = false;
  std::int64_t storage_offset = 0;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  ///< none, or as many as sizes
};

/// Numbers the geometries of a ring, from 1. Open addressing; what distinguishes them is contiguous
/// in one block of memory, in words.
class GeometryTable {
 public:
  explicit GeometryTable(std::pmr::memory_resource* memory) : slots_(memory), words_(memory) {
    slots_.resize(1 << 10);
  }

  struct Found {
    std::uint32_t id = 0;
    bool added = false;
  };
  Found number(const Geometry& geometry);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;  ///< 0: free
    std::uint32_t length = 0;
    std::size_t begin = 0;
  };

  [[nodiscard]] bool is_at(const Slot& slot, std::int64_t kind,
                           const Geometry& geometry) const noexcept;
  void grow();

  std::pmr::vector<Slot> slots_;
  std::pmr::vector<std::int64_t> words_;
  std::uint32_t count_ = 0;
};

}  // namespace ulpscope::capture
