#include "dump/value_shape.hpp"

#include <cstring>

#include "core/elements.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::size_t kMostDatasetDimensions = 32;  // of an HDF5 dataset
constexpr std::uint64_t kMostBytes = 1ULL << 40;
constexpr std::uint64_t kMostExpandedBytes = 256ULL << 20;

/// False if the product is more than a content can have.
bool multiply(std::uint64_t& product, std::int64_t size) {
  return !__builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product) &&
         product <= kMostBytes;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

}  // namespace

std::optional<ValueShape> value_shape(const Geometry& geometry) {
  ValueShape shape;
  shape.dtype = geometry.dtype;
  shape.sizes = geometry.sizes;
  shape.packed_bytes = shape.bytes = element_size(shape.dtype);
  const auto unusual = geometry_flag::sparse | geometry_flag::quantised;
  if (shape.bytes == 0 || geometry.layout != 0 || (geometry.flags & unusual) != 0 ||
      shape.sizes.size() > kMostDatasetDimensions ||
      (!geometry.strides.empty() && geometry.strides.size() != shape.sizes.size())) {
    return std::nullopt;
  }
  bool empty = false;
  for (const std::int64_t size : shape.sizes) {
    if (size < 0 || size > static_cast<std::int64_t>(kMostBytes)) return std::nullopt;
    empty = empty || size == 0;
  }
  if (empty) {
    shape.packed_bytes = shape.bytes = 0;
    return shape;
  }
  for (const std::int64_t size : shape.sizes) {
    if (!multiply(shape.bytes, size)) return std::nullopt;
  }
  shape.packed_strides = ulpscope::packed_strides(shape.sizes, geometry.strides);
  const auto row_major = row_major_strides(shape.sizes);
  for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
    if (shape.sizes[i] == 1) continue;
    shape.row_major = shape.row_major && shape.packed_strides[i] == row_major[i];
    if (shape.packed_strides[i] != 0) multiply(shape.packed_bytes, shape.sizes[i]);
  }
  const bool expanded = shape.bytes != shape.packed_bytes;
  if (expanded && shape.bytes > kMostExpandedBytes) return std::nullopt;
  return shape;
}

std::vector<std::byte> in_row_major_order(const ValueShape& shape,
                                          std::span<const std::byte> packed) {
  const std::size_t element = element_size(shape.dtype);
  std::vector<std::byte> result(shape.bytes);
  std::byte* to = result.data();
  core::for_each_element<1>(shape.sizes, {shape.packed_strides}, [&](std::int64_t from) {
    std::memcpy(to, packed.data() + static_cast<std::size_t>(from) * element, element);
    to += element;
  });
  return result;
}

}  // namespace ulpscope::dump
