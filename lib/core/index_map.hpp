#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ulpscope::core {

/// Where the elements of a packed value are in its logical order. Expanded dimensions are packed
/// once and have index 0.
class IndexMap {
 public:
  /// @throws Error with ErrorCode::usage unless `strides` (one per dimension, or none for row-major
  ///         order) are those of packed elements.
  IndexMap(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }
  /// Whether the packed order is the logical order.
  [[nodiscard]] bool row_major() const noexcept { return row_major_; }
  /// Place of a packed element in logical order.
  [[nodiscard]] std::uint64_t logical(std::uint64_t packed) const noexcept;
  /// One index per dimension of the shape.
  [[nodiscard]] std::vector<std::int64_t> index(std::uint64_t packed) const;

 private:
  struct Dimension {
    std::uint64_t size;
    std::uint64_t packed_stride;
    std::uint64_t logical_stride;
    std::size_t place;  // in the shape
  };
  std::vector<Dimension> dimensions_;  // those that are walked, in logical order
  std::size_t rank_;
  std::uint64_t elements_ = 1;
  bool row_major_ = true;
};

}  // namespace ulpscope::core
