#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/layout.hpp"

namespace ulpscope::ring {

/// Sole owner of one process's view of a ring: the header page, then the data twice back to back.
/// Unmapped on destruction; the memory itself lives until the last process has let go of it.
class RingMapping {
 public:
  RingMapping() noexcept = default;
  /// Maps the ring of `descriptor`, which stays the caller's and may be closed at once. Empty
  /// when it cannot be mapped or is not a ring of `capacity` bytes.
  static RingMapping map(int descriptor, std::uint64_t capacity) noexcept;
  RingMapping(RingMapping&& other) noexcept;
  RingMapping& operator=(RingMapping&& other) noexcept;
  ~RingMapping();

  explicit operator bool() const noexcept { return base_ != nullptr; }
  [[nodiscard]] RingHeader* header() const noexcept;
  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  RingMapping(std::byte* base, std::uint64_t capacity) noexcept
      : base_(base), capacity_(capacity) {}

  std::byte* base_ = nullptr;
  std::uint64_t capacity_ = 0;
};

/// Has the kernel populate whole pages of a mapping before they are touched. False if
/// there is none: touching them would end the process.
[[nodiscard]] bool fetch_memory(void* pages, std::size_t bytes) noexcept;

/// A page's size on this machine: the header's size, and what capacities are multiples of.
[[nodiscard]] std::size_t page_bytes() noexcept;

/// The nearest capacity a ring can have: a power of two between kSmallestRing and kLargestRing.
[[nodiscard]] std::uint64_t ring_capacity(std::uint64_t wanted) noexcept;

}  // namespace ulpscope::ring
