#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"

/// What a format's bits mean, from its textbook definition: sign, exponent and mantissa, put
/// together with ldexp, then sorted. Nothing here is shared with the library.
namespace ulpscope::test {

__extension__ typedef __int128 Wide;

struct FormatDescription {
  Dtype dtype;
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum { ieee, nan_is_all_ones, nan_is_minus_zero } specials;
};

inline const FormatDescription kSmallFormats[] = {
    {Dtype::float16, 16, 5, 10, 15, FormatDescription::ieee},
    {Dtype::bfloat16, 16, 8, 7, 127, FormatDescription::ieee},
    {Dtype::float8_e5m2, 8, 5, 2, 15, FormatDescription::ieee},
    {Dtype::float8_e4m3fn, 8, 4, 3, 7, FormatDescription::nan_is_all_ones},
    {Dtype::float8_e5m2fnuz, 8, 5, 2, 16, FormatDescription::nan_is_minus_zero},
    {Dtype::float8_e4m3fnuz, 8, 4, 3, 8, FormatDescription::nan_is_minus_zero},
};

/// One number as the tests see it.
struct Number {
  bool nan = false;
  bool infinite = false;
  bool subnormal = false;
  double value = 0;   // not for NaN; integers too large for it are in `position`
  Wide position = 0;  // steps from zero on the lattice
};

/// Every number of a format of at most 16 bits.
class Lattice {
 public:
  explicit Lattice(const FormatDescription& format) : numbers_(std::size_t{1} << format.bits) {
    std::vector<double> finite;
    for (std::size_t bits = 0; bits < numbers_.size(); ++bits) {
      numbers_[bits] = decode(format, bits);
      if (!numbers_[bits].nan && !numbers_[bits].infinite) finite.push_back(numbers_[bits].value);
    }
    std::ranges::sort(finite);
    finite.erase(std::unique(finite.begin(), finite.end()), finite.end());
    const auto zero = std::ranges::lower_bound(finite, 0.0) - finite.begin();
    for (Number& number : numbers_) {
      if (number.nan) continue;
      if (number.infinite)
        number.position =
            number.value > 0 ? static_cast<std::ptrdiff_t>(finite.size()) - zero : -1 - zero;
      else
        number.position = std::ranges::lower_bound(finite, number.value) - finite.begin() - zero;
    }
    finite_ = std::move(finite);
  }

  const Number& operator[](std::uint64_t bits) const { return numbers_[bits]; }
  std::size_t size() const { return numbers_.size(); }

  /// The number nearest to `value`, the one with the even mantissa of two; infinity half a step
  /// beyond the largest.
  double nearest(double value) const {
    const auto above = std::ranges::lower_bound(finite_, value);
    if (above == finite_.begin()) return *above;
    if (above == finite_.end()) {
      const double step = finite_.back() - finite_[finite_.size() - 2];
      return value - finite_.back() < step / 2 ? finite_.back() : HUGE_VAL;
    }
    const double high = *above;
    const double low = *(above - 1);
    if (high - value != value - low) return high - value < value - low ? high : low;
    const auto step = high - low;
    return std::fmod(low / step, 2) == 0 ? low : high;
  }

 private:
  static Number decode(const FormatDescription& format, std::size_t bits) {
    const bool negative = (bits >> (format.bits - 1)) != 0;
    const auto exponent =
        static_cast<int>(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    const auto mantissa = static_cast<int>(bits) & ((1 << format.mantissa_bits) - 1);
    const bool top = exponent == (1 << format.exponent_bits) - 1;
    Number number;
    if (format.specials == FormatDescription::ieee && top) {
      number.nan = mantissa != 0;
      number.infinite = mantissa == 0;
      number.value = negative ? -HUGE_VAL : HUGE_VAL;
      return number;
    }
    if (format.specials == FormatDescription::nan_is_all_ones && top &&
        mantissa == (1 << format.mantissa_bits) - 1) {
      number.nan = true;
      return number;
    }
    if (format.specials == FormatDescription::nan_is_minus_zero && negative && exponent == 0 &&
        mantissa == 0) {
      number.nan = true;
      return number;
    }
    number.subnormal = exponent == 0 && mantissa != 0;
    const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
    const int power = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
    number.value = std::ldexp(hidden + mantissa, power);
    if (negative) number.value = -number.value;
    return number;
  }

  std::vector<Number> numbers_;
  std::vector<double> finite_;
};

/// That of a format, made once.
inline const Lattice& lattice_of(const FormatDescription& format) {
  static std::map<Dtype, Lattice> made;
  return made.try_emplace(format.dtype, format).first->second;
}

/// float32 and float64: too many to list, so their position is the integer under the sign bit.
template <class Float, class Bits>
Number decode_native(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  Number number;
  number.nan = std::isnan(value);
  if (number.nan) return number;
  number.infinite = std::isinf(value);
  number.subnormal = std::fpclassify(value) == FP_SUBNORMAL;
  number.value = static_cast<double>(value);
  const auto size = static_cast<Wide>(bits & (static_cast<Bits>(~Bits{0}) >> 1));
  number.position = std::signbit(value) ? -size : size;
  return number;
}

}  // namespace ulpscope::test
