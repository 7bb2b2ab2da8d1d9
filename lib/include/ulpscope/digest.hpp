#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ulpscope {

/// 128-bit, order-aware hash of a value's logical bits. Equal digests mean equal values.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const Digest&, const Digest&) = default;
};

/// 32 lower-case hexadecimal digits, high half first.
[[nodiscard]] std::string to_string(const Digest& digest);

/// Digest of `bytes` in the order given. The same for the same bytes on every machine and thread
/// count; lib/core/DIGEST.md defines the function and says how it was chosen.
[[nodiscard]] Digest digest(std::span<const std::byte> bytes) noexcept;

/// Feeds a digest piece by piece: any split of the bytes gives the same result as digest() of the
/// whole. finish() ends the stream; nothing may be called after it.
class DigestStream {
 public:
  DigestStream() noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  /// The digest of so many zero bytes, at a cost that hardly grows with their number.
  void update_zeros(std::uint64_t size) noexcept;
  [[nodiscard]] Digest finish() noexcept;

 private:
  alignas(64) std::array<std::byte, 5120> state_;  // the tree's unfinished nodes, one per level
};

/// A strided array in memory: sizes and strides count elements, outermost dimension first.
struct StridedBytes {
  const std::byte* data = nullptr;
  std::size_t element_size = 0;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
};

/// Digest of the elements in memory order: expanded dimensions (stride 0) and dimensions of size 1
/// are dropped, the others are walked by decreasing stride. A transposed or channels-last value
/// thus has the digest of its memory, and a slice that of its packed copy.
[[nodiscard]] Digest digest_in_memory_order(const StridedBytes& value) noexcept;

/// Digest of the elements in logical (row-major) order, expanded dimensions walked once.
[[nodiscard]] Digest digest_in_logical_order(const StridedBytes& value) noexcept;

/// Copies the elements into `packed` in the order digest_in_memory_order() walks them and returns
/// the number of bytes written: packed_size(), or 0 if `packed` is smaller.
std::size_t pack_in_memory_order(const StridedBytes& value, std::span<std::byte> packed) noexcept;

/// Bytes of the elements once packed, expanded dimensions counted once; the largest std::size_t if
/// they exceed it. The digest of such a value is Digest{}, and it is not packed.
[[nodiscard]] std::size_t packed_size(const StridedBytes& value) noexcept;

/// For each dimension the step between elements as pack_in_memory_order() leaves them, 0 if the
/// dimension is expanded or of size 1. Without strides the order is row-major.
[[nodiscard]] std::vector<std::int64_t> packed_strides(std::span<const std::int64_t> sizes,
                                                       std::span<const std::int64_t> strides);

}  // namespace ulpscope
