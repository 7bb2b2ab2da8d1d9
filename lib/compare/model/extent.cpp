#include "compare/model/extent.hpp"

#include <cstddef>

namespace ulpscope::comparison {

Extent extent(const Slot& slot) {
  constexpr Extent whole{.without_gaps = false};
  if (slot.geometry == nullptr) return whole;
  const Geometry& geometry = *slot.geometry;
  const auto element = static_cast<std::int64_t>(element_size(geometry.dtype));
  if (element == 0 || geometry.strides.size() != geometry.sizes.size() ||
      geometry.storage_offset < 0)
    return whole;
  std::int64_t span = 1;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < geometry.sizes.size(); ++d) {
    const std::int64_t size = geometry.sizes[d];
    const std::int64_t stride = geometry.strides[d];
    std::int64_t reach = 0;
    if (size < 0 || stride < 0 || (size > 0 && __builtin_mul_overflow(size - 1, stride, &reach)) ||
        __builtin_add_overflow(span, reach, &span))
      return whole;
    if (stride != 0 && __builtin_mul_overflow(count, size, &count)) return whole;
    if (size == 0) return {0, 0, true};
  }
  Extent result;
  if (__builtin_mul_overflow(geometry.storage_offset, element, &result.begin) ||
      __builtin_mul_overflow(span, element, &span) ||
      __builtin_add_overflow(result.begin, span, &result.end))
    return whole;
  result.without_gaps = count * element == span;
  return result;
}

}  // namespace ulpscope::comparison
