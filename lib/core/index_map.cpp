#include "core/index_map.hpp"

#include <algorithm>

#include "core/walk.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::core {

IndexMap::IndexMap(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
    : rank_(shape.size()) {
  if (!strides.empty() && strides.size() != shape.size())
    throw Error(ErrorCode::usage, "The strides of a value do not fit its shape.");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) throw Error(ErrorCode::usage, "A value has a dimension of negative size.");
    const auto size = static_cast<std::uint64_t>(shape[i]);
    if (size != 0 && !strides.empty() && !is_walked(shape[i], strides[i])) continue;
    if (__builtin_mul_overflow(elements_, size, &elements_))
      throw Error(ErrorCode::usage, "The shape of a value exceeds any memory.");
    if (size > 1)
      dimensions_.push_back(
          {size, strides.empty() ? 0 : static_cast<std::uint64_t>(strides[i]), 0, i});
  }
  if (std::ranges::find(shape, 0) != shape.end()) {
    elements_ = 0;
    dimensions_.clear();
    return;
  }

  std::uint64_t stride = 1;
  for (auto dimension = dimensions_.rbegin(); dimension != dimensions_.rend(); ++dimension) {
    dimension->logical_stride = stride;
    if (strides.empty()) dimension->packed_stride = stride;
    row_major_ = row_major_ && dimension->packed_stride == stride;
    stride *= dimension->size;
  }

  std::vector<Dimension> by_stride = dimensions_;
  std::ranges::sort(by_stride, {}, &Dimension::packed_stride);
  std::uint64_t expected = 1;
  for (const Dimension& dimension : by_stride) {
    if (dimension.packed_stride != expected)
      throw Error(ErrorCode::usage, "The strides of a value are not those of packed elements.");
    expected *= dimension.size;
  }
}

std::uint64_t IndexMap::logical(std::uint64_t packed) const noexcept {
  if (row_major_) return packed;
  std::uint64_t place = 0;
  for (const Dimension& dimension : dimensions_)
    place += packed / dimension.packed_stride % dimension.size * dimension.logical_stride;
  return place;
}

std::vector<std::int64_t> IndexMap::index(std::uint64_t packed) const {
  std::vector<std::int64_t> index(rank_, 0);
  for (const Dimension& dimension : dimensions_)
    index[dimension.place] =
        static_cast<std::int64_t>(packed / dimension.packed_stride % dimension.size);
  return index;
}

}  // namespace ulpscope::core
