#include "compare/measure/value_pair.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "compare/model/value_match.hpp"

namespace ulpscope::comparison {

ValuePair::ValuePair(TensorBytes tensor)
    : tensor_(std::move(tensor)), size_(tensor_.bytes.reference.size()) {}

std::optional<ValuePair> ValuePair::open(const Both<const Run*>& runs,
                                         const Both<std::uint32_t>& ranks,
                                         const Both<Digest>& digests,
                                         const Both<Geometry>& geometries) {
  if (!same_memory_order(geometries.reference, geometries.candidate)) {
    auto tensor = tensor_bytes(runs, ranks, digests, geometries);
    return tensor ? std::optional(ValuePair(std::move(*tensor))) : std::nullopt;
  }
  if (!holds_bytes(runs, ranks, digests, geometries)) return std::nullopt;
  ValuePair pair;
  pair.tensor_.dtype = geometries.reference.dtype;
  pair.tensor_.shape = packed_shape(geometries.reference);
  pair.tensor_.strides = packed_strides(geometries.reference, pair.tensor_.shape);
  pair.size_ = packed_bytes(geometries.reference);
  for (const Side side : kSides)
    on(pair.open_, side) = [run = on(runs, side), rank = on(ranks, side),
                            digest = on(digests, side)] { return run->open_content(rank, digest); };
  return pair;
}

ValuePair::ValuePair(Dtype dtype, std::vector<std::int64_t> shape, Both<Open> open)
    : open_(std::move(open)) {
  Geometry geometry;
  geometry.dtype = dtype;
  geometry.sizes = std::move(shape);
  geometry.strides.assign(geometry.sizes.size(), 1);  // all alike: row-major
  tensor_.dtype = dtype;
  tensor_.strides = packed_strides(geometry, geometry.sizes);
  size_ = packed_bytes(geometry);
  tensor_.shape = std::move(geometry.sizes);
}

bool ValuePair::row_major() const noexcept {
  std::int64_t step = 1;
  for (std::size_t d = tensor_.shape.size(); d-- > 0;) {
    if (tensor_.shape[d] > 1 && tensor_.strides[d] != step) return false;
    step *= tensor_.shape[d];
  }
  return true;
}

void ValuePair::for_each_piece(const std::function<bool(Piece, Piece)>& use) const {
  Both<std::unique_ptr<ContentReader>> readers;
  Both<std::vector<std::byte>> buffers;
  if (open_.reference) {
    for (const Side side : kSides) {
      on(readers, side) = on(open_, side)();
      on(buffers, side).resize(std::min<std::uint64_t>(size_, kPiece));
    }
  }
  for (std::uint64_t done = 0; done < size_; done += kPiece) {
    const std::size_t bytes = std::min<std::uint64_t>(size_ - done, kPiece);
    Both<Piece> pieces;
    for (const Side side : kSides) {
      if (on(readers, side)) {
        on(readers, side)->read(std::span(on(buffers, side)).first(bytes));
        on(pieces, side) = std::span(on(buffers, side)).first(bytes);
      } else {
        on(pieces, side) = std::span(on(tensor_.bytes, side)).subspan(done, bytes);
      }
    }
    if (!use(pieces.reference, pieces.candidate)) return;
  }
}

}  // namespace ulpscope::comparison
