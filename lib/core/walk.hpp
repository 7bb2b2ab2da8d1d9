#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "ulpscope/digest.hpp"

namespace ulpscope::core {

inline constexpr std::size_t kTooLarge = std::numeric_limits<std::size_t>::max();

enum class Order { memory, logical };

/// How a strided array is walked: loops from the outermost in, each a number of runs and the bytes
/// from one to the next, around a run of adjacent bytes. Loops that follow each other in memory are
/// joined, so a dense array is a single run.
class Walk {
 public:
  /// `value` must not be empty and its packed_size() not be kTooLarge.
  Walk(const StridedBytes& value, Order order) noexcept;

  struct Loop {
    std::size_t count;
    std::ptrdiff_t stride;  // bytes
  };

  [[nodiscard]] std::span<const Loop> loops() const noexcept { return {loops_.data(), depth_}; }
  [[nodiscard]] std::size_t run_bytes() const noexcept { return run_bytes_; }

 private:
  // Loops repeat at least twice, so one more would exceed the largest packed_size().
  std::array<Loop, 64> loops_;
  std::size_t depth_ = 0;
  std::size_t run_bytes_;
};

/// Whether a dimension adds elements that are not elsewhere: expanded ones and those of size 1 do
/// not.
[[nodiscard]] constexpr bool is_walked(std::int64_t size, std::int64_t stride) noexcept {
  return size > 1 && stride != 0;
}

}  // namespace ulpscope::core
