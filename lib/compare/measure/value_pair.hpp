#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compare/measure/tensor_bytes.hpp"

namespace ulpscope::comparison {

/// The bytes of one tensor in both runs, in the same order, read in pieces as often as needed.
/// Takes the memory of a piece, but for values that the runs keep in different memory orders.
class ValuePair {
 public:
  /// Pieces have this many bytes, the last one aside.
  static constexpr std::size_t kPiece = std::size_t{1} << 18;
  using Piece = std::span<const std::byte>;

  /// Empty if tensor_bytes() is. The arguments must outlive it.
  [[nodiscard]] static std::optional<ValuePair> open(const Both<const Run*>& runs,
                                                     const Both<std::uint32_t>& ranks,
                                                     const Both<Digest>& digests,
                                                     const Both<Geometry>& geometries);
  /// Of the content in memory.
  explicit ValuePair(TensorBytes tensor);
  /// Opens one side's content from its beginning.
  using Open = std::function<std::unique_ptr<ContentReader>()>;
  /// Of contents in row-major order, of the size that dtype and shape have.
  ValuePair(Dtype dtype, std::vector<std::int64_t> shape, Both<Open> open);

  [[nodiscard]] Dtype dtype() const noexcept { return tensor_.dtype; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return tensor_.shape; }
  [[nodiscard]] const std::vector<std::int64_t>& strides() const noexcept {
    return tensor_.strides;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Whether the bytes are in row-major order.
  [[nodiscard]] bool row_major() const noexcept;

  /// Goes through all pieces, until `use` returns false.
  /// @throws Error with ErrorCode::corrupt if the bytes are not those that were recorded.
  void for_each_piece(const std::function<bool(Piece reference, Piece candidate)>& use) const;

 private:
  ValuePair() = default;

  TensorBytes tensor_;  ///< without bytes where they are read in pieces
  std::uint64_t size_ = 0;
  Both<Open> open_;
};

}  // namespace ulpscope::comparison
