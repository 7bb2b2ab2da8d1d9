#include "ulpscope/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/cpu_level.hpp"
#include "core/default_floating_point.hpp"
#include "core/number_text.hpp"
#include "core/statistics_kernel.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope {
namespace core {
namespace {

StatisticsKernel statistics_kernel(CpuLevel level, Dtype dtype) noexcept {
#if defined(__x86_64__)
  if (level == CpuLevel::avx512) return statistics_kernel_Avx512(dtype);
  if (level == CpuLevel::avx2) return statistics_kernel_Avx2(dtype);
#else
  static_cast<void>(level);
#endif
  return statistics_kernel_Baseline(dtype);
}

double sum_of(const std::array<double, kStatisticsColumns>& columns) {
  double sum = 0;
  for (const double column : columns) sum += column;
  return sum;
}

/// Sums of float64 numbers divided by 2^exponent, which is at least the largest of them.
struct ScaledSums {
  double sum = 0;
  double square = 0;
};

ScaledSums scaled_sums(std::span<const std::byte> bytes, int exponent) {
  // In two factors, because the scale of the smallest subnormal would be infinite.
  const double first = std::ldexp(1.0, -(exponent / 2));
  const double second = std::ldexp(1.0, -(exponent - exponent / 2));
  ScaledSums sums;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) {
    double value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    if (!std::isfinite(value)) continue;
    const double scaled = value * first * second;
    sums.sum += scaled;
    sums.square += scaled * scaled;
  }
  return sums;
}

/// The largest finite size among float64 numbers.
double largest_size(std::span<const std::byte> bytes) {
  double largest = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) {
    double value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace

Statistics statistics_at(CpuLevel level, Dtype dtype, std::span<const std::byte> bytes) {
  const std::size_t whole = std::max<std::size_t>(element_size(dtype), 1);
  if (bytes.size() % whole != 0)
    throw Error(ErrorCode::usage, "The bytes of a value are no whole number of its elements.");
  const std::size_t size = number_bits(dtype) / 8;
  const std::size_t numbers = bytes.size() / size;
  const DefaultFloatingPoint environment;
  StatisticsTotals totals;
  statistics_kernel(level, dtype)(bytes.data(), numbers, totals);

  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  Statistics result;
  result.elements = numbers;
  result.nan = totals.nan;
  result.inf = totals.inf;
  result.zero = totals.zero;
  result.subnormal = totals.subnormal;
  // Adding zero makes -0 a 0, so that it does not matter which of the two was met first.
  result.min = totals.nan == numbers ? kNoNumber : totals.min + 0.0;
  result.max = totals.nan == numbers ? kNoNumber : totals.max + 0.0;
  const std::uint64_t finite = numbers - totals.nan - totals.inf;
  const double sum = sum_of(totals.sum);
  const double square = sum_of(totals.square);
  result.mean = finite == 0 ? kNoNumber : sum / static_cast<double>(finite);
  result.l2 = std::sqrt(square);
  const bool is_double = dtype == Dtype::float64 || dtype == Dtype::complex128;
  // Below this, squares that were lost to underflow could be seen in the result.
  constexpr double kSmallestSum = 1e-280;
  const bool in_range = std::isfinite(sum) && std::isfinite(square) && square >= kSmallestSum;
  if (!is_double || in_range || finite == totals.zero) return result;
  const int exponent = std::ilogb(largest_size(bytes)) + 1;
  const ScaledSums scaled = scaled_sums(bytes, exponent);
  result.mean = std::ldexp(scaled.sum / static_cast<double>(finite), exponent);
  result.l2 = std::ldexp(std::sqrt(scaled.square), exponent);
  return result;
}

}  // namespace core

Statistics statistics_of(Dtype dtype, std::span<const std::byte> bytes) {
  static const core::CpuLevel best = core::best_level();
  return core::statistics_at(best, dtype, bytes);
}

}  // namespace ulpscope
