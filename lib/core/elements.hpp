#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace ulpscope::core {

/// Calls visit(offset...) for every element in row-major order, with one offset for each of
/// `strides`: the sum over the dimensions of index times stride. Offsets wrap around where they
/// exceed 64 bits.
/// @pre no size is negative, and each of `strides` has as many as there are sizes.
template <std::size_t kStrides, class Visit>
void for_each_element(std::span<const std::int64_t> sizes,
                      const std::array<std::span<const std::int64_t>, kStrides>& strides,
                      Visit&& visit) {
  for (const std::int64_t size : sizes)
    if (size == 0) return;
  std::array<std::uint64_t, kStrides> offsets{};
  const auto visit_here = [&] {
    std::apply([&](auto... offset) { visit(static_cast<std::int64_t>(offset)...); }, offsets);
  };
  const auto move = [&](std::size_t dimension, std::int64_t times) {
    for (std::size_t k = 0; k < kStrides; ++k)
      offsets[k] +=
          static_cast<std::uint64_t>(strides[k][dimension]) * static_cast<std::uint64_t>(times);
  };
  if (sizes.empty()) return visit_here();
  const std::size_t last = sizes.size() - 1;
  std::vector<std::int64_t> index(last, 0);
  while (true) {
    for (std::int64_t k = 0; k < sizes[last]; ++k, move(last, 1)) visit_here();
    move(last, -sizes[last]);
    std::size_t dimension = last;
    while (true) {
      if (dimension == 0) return;
      --dimension;
      move(dimension, 1);
      if (++index[dimension] < sizes[dimension]) break;
      move(dimension, -sizes[dimension]);
      index[dimension] = 0;
    }
  }
}

}  // namespace ulpscope::core
