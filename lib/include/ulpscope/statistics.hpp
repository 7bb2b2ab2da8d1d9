#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ulpscope/dtype.hpp"

namespace ulpscope {

/// A summary of a value without its bytes. Complex numbers count as two elements.
struct Statistics {
  double min = 0;   ///< of the elements that are numbers; NaN if there are none
  double max = 0;   ///< likewise
  double mean = 0;  ///< of the finite elements; NaN if there are none
  double l2 = 0;    ///< square root of the sum of squares of the finite elements
  std::uint64_t elements = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t zero = 0;  ///< of either sign
  std::uint64_t subnormal = 0;
};

/// Statistics of packed elements. The same bytes give the same bits on every machine and with every
/// number of threads: sums are in double, in an order that depends only on the count.
///
/// @throws Error with ErrorCode::usage if the size is not a multiple of the element's.
[[nodiscard]] Statistics statistics_of(Dtype dtype, std::span<const std::byte> bytes);

}  // namespace ulpscope
