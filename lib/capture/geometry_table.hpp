#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace ulpscope::capture {

/// Numbers sequences of words, from 1: how a ring's geometries are told apart. Open addressing;
/// sequences lie one after another in one block of memory.
class GeometryTable {
 public:
  explicit GeometryTable(std::pmr::memory_resource* memory) : slots_(memory), words_(memory) {
    slots_.resize(1 << 10);
  }

  struct Found {
    std::uint32_t id = 0;
    bool added = false;
  };
  Found number(std::span<const std::int64_t> words);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;  ///< 0: free
    std::uint32_t length = 0;
    std::size_t begin = 0;
  };

  void grow();

  std::pmr::vector<Slot> slots_;
  std::pmr::vector<std::int64_t> words_;
  std::uint32_t count_ = 0;
};

}  // namespace ulpscope::capture
