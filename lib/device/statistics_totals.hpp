#pragma once

#include <cstdint>
#include <limits>

#include "device/portable.hpp"
#include "ulpscope/dtype.hpp"
#include "ulpscope/statistics.hpp"

namespace ulpscope::device {

/// A sum of squares over all of float64's range: squares of large and of small numbers are added up
/// scaled, so that none overflows and none is lost.
struct SquareSum {
  double middle = 0;
  double large = 0;
  double small = 0;

  static constexpr double kLarge = 0x1p+480;
  static constexpr double kSmall = 0x1p-470;
  static constexpr int kScale = 600;

  /// `size` is finite and not negative. Only numbers of 8 bytes need the scales.
  template <bool kScaled>
  ULPSCOPE_HOST_DEVICE void add(double size) {
    if constexpr (kScaled) {
      if (size >= kLarge) {
        const double scaled = size * 0x1p-600;
        large += scaled * scaled;
        return;
      }
      if (size < kSmall) {
        const double scaled = size * 0x1p+600;
        small += scaled * scaled;
        return;
      }
    }
    middle += size * size;
  }
  ULPSCOPE_HOST_DEVICE void add(const SquareSum& other) {
    middle += other.middle;
    large += other.large;
    small += other.small;
  }
  /// Square root of the sum divided by `count`.
  [[nodiscard]] double root(double count) const noexcept;
};

/// What is known about some numbers of a value. Totals of a value are those of its leaves, summed
/// as the digest's tree is built, so that they depend only on its bytes.
struct StatisticsTotals {
  double sum = 0;        // of the finite numbers below SquareSum::kLarge
  double large_sum = 0;  // of those beyond it, scaled
  SquareSum squares;
  double min = std::numeric_limits<double>::infinity();  // of those that are not NaN
  double max = -std::numeric_limits<double>::infinity();
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t zero = 0;
  std::uint64_t subnormal = 0;

  ULPSCOPE_HOST_DEVICE void add(const StatisticsTotals& other) {
    sum += other.sum;
    large_sum += other.large_sum;
    squares.add(other.squares);
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    nan += other.nan;
    inf += other.inf;
    zero += other.zero;
    subnormal += other.subnormal;
  }
};

/// What the totals of a value of so many packed bytes say.
[[nodiscard]] Statistics statistics_from(const StatisticsTotals& totals, Dtype dtype,
                                         std::uint64_t bytes) noexcept;

}  // namespace ulpscope::device
