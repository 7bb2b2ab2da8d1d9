#include "compare/measure/tensor_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "compare/model/value_match.hpp"
#include "core/elements.hpp"

namespace ulpscope::comparison {
namespace {

/// Copies elements from one packed order into another.
[[nodiscard]] std::vector<std::byte> reordered(const std::vector<std::byte>& bytes,
                                               std::size_t element,
                                               const std::vector<std::int64_t>& shape,
                                               const std::vector<std::int64_t>& from,
                                               const std::vector<std::int64_t>& to) {
  std::vector<std::byte> result(bytes.size());
  core::for_each_element<2>(shape, {from, to}, [&](std::int64_t source, std::int64_t target) {
    std::memcpy(result.data() + static_cast<std::size_t>(target) * element,
                bytes.data() + static_cast<std::size_t>(source) * element, element);
  });
  return result;
}

/// Whether elements of one correspond to elements of the other.
[[nodiscard]] bool fit(const Geometry& a, const Geometry& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && element_size(a.dtype) != 0 &&
         a.strides.size() == a.sizes.size() && b.strides.size() == b.sizes.size() &&
         packed_shape(a) == packed_shape(b);
}

}  // namespace

std::vector<std::int64_t> packed_shape(const Geometry& geometry) {
  std::vector<std::int64_t> shape = geometry.sizes;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && geometry.strides[d] == 0) shape[d] = 1;
  return shape;
}

std::vector<std::int64_t> packed_strides(const Geometry& geometry,
                                         const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if ((shape[a] > 1) != (shape[b] > 1)) return shape[a] <= 1;
    return geometry.strides[a] > geometry.strides[b];
  });
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t step = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    strides[*d] = step;
    step *= shape[*d];
  }
  return strides;
}

std::uint64_t packed_bytes(const Geometry& geometry) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  if (geometry.strides.size() != geometry.sizes.size()) return kLargest;
  std::uint64_t bytes = element_size(geometry.dtype);
  for (const std::int64_t size : packed_shape(geometry))
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
      return kLargest;
  return bytes;
}

bool holds_bytes(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                 const Both<Digest>& digests, const Both<Geometry>& geometries) {
  if (!fit(geometries.reference, geometries.candidate)) return false;
  const std::uint64_t expected = packed_bytes(geometries.reference);
  return std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    return on(runs, side)->content_size(on(ranks, side), on(digests, side)) == expected;
  });
}

std::optional<TensorBytes> tensor_bytes(const Both<const Run*>& runs,
                                        const Both<std::uint32_t>& ranks,
                                        const Both<Digest>& digests,
                                        const Both<Geometry>& geometries) {
  if (!holds_bytes(runs, ranks, digests, geometries)) return std::nullopt;
  const Geometry& a = geometries.reference;
  const Geometry& b = geometries.candidate;
  TensorBytes result;
  result.dtype = a.dtype;
  result.shape = packed_shape(a);
  result.strides = packed_strides(a, result.shape);
  for (const Side side : kSides)
    on(result.bytes, side) = on(runs, side)->content(on(ranks, side), on(digests, side)).value();
  if (!same_memory_order(a, b))
    result.bytes.candidate = reordered(result.bytes.candidate, element_size(a.dtype), result.shape,
                                       packed_strides(b, result.shape), result.strides);
  return result;
}

}  // namespace ulpscope::comparison
