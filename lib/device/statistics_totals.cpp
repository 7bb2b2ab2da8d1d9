#include "device/statistics_totals.hpp"

#include <cmath>

#include "core/default_floating_point.hpp"
#include "core/number_text.hpp"

namespace ulpscope::device {

double SquareSum::root(double count) const noexcept {
  const core::DefaultFloatingPoint environment;
  if (large > 0)
    return std::ldexp(std::sqrt((large + std::ldexp(middle, -2 * kScale)) / count), kScale);
  if (middle > 0) return std::sqrt((middle + std::ldexp(small, -2 * kScale)) / count);
  return std::ldexp(std::sqrt(small / count), -kScale);
}

Statistics statistics_from(const StatisticsTotals& totals, Dtype dtype,
                           std::uint64_t bytes) noexcept {
  const core::DefaultFloatingPoint environment;
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  Statistics result;
  result.elements = bytes / (core::number_bits(dtype) / 8);
  result.nan = totals.nan;
  result.inf = totals.inf;
  result.zero = totals.zero;
  result.subnormal = totals.subnormal;
  // Adding zero makes -0 a 0, so that it does not matter which of the two was met first.
  result.min = totals.nan == result.elements ? kNoNumber : totals.min + 0.0;
  result.max = totals.nan == result.elements ? kNoNumber : totals.max + 0.0;
  const std::uint64_t finite = result.elements - totals.nan - totals.inf;
  const auto count = static_cast<double>(finite);
  result.l2 = totals.squares.root(1);
  if (finite == 0)
    result.mean = kNoNumber;
  else if (totals.squares.large == 0)
    result.mean = totals.sum / count;
  else
    result.mean = std::ldexp(
        (totals.large_sum + std::ldexp(totals.sum, -SquareSum::kScale)) / count, SquareSum::kScale);
  return result;
}

}  // namespace ulpscope::device
