#include "core/walk.hpp"

#include <algorithm>
#include <cstdlib>

namespace ulpscope::core {
namespace {

/// Insertion sort: a handful of dimensions, stable, no allocation.
void sort_by_decreasing_stride(std::span<Walk::Loop> loops) noexcept {
  for (std::size_t i = 1; i < loops.size(); ++i)
    for (std::size_t j = i; j > 0; --j) {
      if (std::abs(loops[j - 1].stride) >= std::abs(loops[j].stride)) break;
      std::swap(loops[j - 1], loops[j]);
    }
}

}  // namespace

Walk::Walk(const StridedBytes& value, Order order) noexcept : run_bytes_(value.element_size) {
  const auto element = static_cast<std::ptrdiff_t>(value.element_size);
  std::size_t walked = 0;
  for (std::size_t i = 0; i < value.sizes.size(); ++i)
    if (is_walked(value.sizes[i], value.strides[i]))
      loops_[walked++] = {static_cast<std::size_t>(value.sizes[i]), value.strides[i] * element};
  if (order == Order::memory) sort_by_decreasing_stride({loops_.data(), walked});

  for (std::size_t i = 0; i < walked; ++i) {
    const Loop& inner = loops_[i];
    const std::ptrdiff_t extent = static_cast<std::ptrdiff_t>(inner.count) * inner.stride;
    if (depth_ > 0 && loops_[depth_ - 1].stride == extent)
      loops_[depth_ - 1] = {loops_[depth_ - 1].count * inner.count, inner.stride};
    else
      loops_[depth_++] = inner;
  }
  if (depth_ > 0 && loops_[depth_ - 1].stride == element) run_bytes_ *= loops_[--depth_].count;
}

}  // namespace ulpscope::core
