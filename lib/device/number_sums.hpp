#pragma once

#include <cstdint>

#include "device/numbers.hpp"
#include "device/statistics_totals.hpp"

namespace ulpscope::device {

/// The results of one thread for the numbers of a leaf: at most 256 of them, so that counts fit 16
/// bits.
class NumberSums {
 public:
  template <class Numbers>
  ULPSCOPE_HOST_DEVICE void add(const Numbers& numbers, typename Numbers::Bits bits) {
    if (!numbers.is_finite(bits)) {
      const bool infinite = numbers.is_infinite(bits);
      counts_ += infinite ? kInf : kNan;
      if (!infinite) return;
      constexpr double kInfinite = std::numeric_limits<double>::infinity();
      find_extremes(numbers.is_negative(bits) ? -kInfinite : kInfinite);
      return;
    }
    if (numbers.is_zero(bits)) counts_ += kZero;
    if (numbers.is_subnormal(bits)) counts_ += kSubnormal;
    const double value = numbers.value(bits);
    find_extremes(value);
    constexpr bool kScaled = Numbers::kIsFloat && Numbers::kSize == 8;
    const double size = value < 0 ? -value : value;
    squares_.template add<kScaled>(size);
    if (kScaled && size >= SquareSum::kLarge)
      large_sum_ += value * 0x1p-600;
    else
      sum_ += value;
  }

  /// The numbers in the first `size` bytes of a piece.
  template <class Numbers>
  ULPSCOPE_HOST_DEVICE void add_piece(const Numbers& numbers, const Piece& piece,
                                      unsigned size = sizeof(Piece)) {
    const unsigned count = size / numbers.size();
    for (unsigned place = 0; place < count; ++place) add(numbers, number_in(piece, place, numbers));
  }

  [[nodiscard]] ULPSCOPE_HOST_DEVICE StatisticsTotals totals() const {
    StatisticsTotals totals;
    totals.sum = sum_;
    totals.large_sum = large_sum_;
    totals.squares = squares_;
    totals.min = min_;
    totals.max = max_;
    totals.nan = counts_ & 0xffff;
    totals.inf = counts_ >> 16 & 0xffff;
    totals.zero = counts_ >> 32 & 0xffff;
    totals.subnormal = counts_ >> 48;
    return totals;
  }

 private:
  static constexpr std::uint64_t kNan = 1;
  static constexpr std::uint64_t kInf = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kZero = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kSubnormal = std::uint64_t{1} << 48;

  ULPSCOPE_HOST_DEVICE void find_extremes(double value) {
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
  }

  double sum_ = 0;
  double large_sum_ = 0;
  SquareSum squares_;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  std::uint64_t counts_ = 0;
};

}  // namespace ulpscope::device
