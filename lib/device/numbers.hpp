#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/portable.hpp"
#include "ulpscope/dtype.hpp"
#include "ulpscope/ulp.hpp"

/// How the numbers of each dtype are read: elements, or the parts of complex ones. Six kinds cover
/// all dtypes; float8 formats and integers check their dtype at run time, so that few kernels have
/// to be compiled.
namespace ulpscope::device {

template <class Format>
struct Floats {
  using Bits = typename Format::Bits;
  static constexpr bool kIsFloat = true;
  static constexpr unsigned kSize = sizeof(Bits);

  [[nodiscard]] ULPSCOPE_HOST_DEVICE unsigned size() const { return kSize; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_nan(Bits bits) const { return Format::is_nan(bits); }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_infinite(Bits bits) const {
    return Format::is_infinite(bits);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_subnormal(Bits bits) const {
    return Format::is_subnormal(bits);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_zero(Bits bits) const {
    return Format::magnitude(bits) == 0;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_finite(Bits bits) const {
    return Format::magnitude(bits) <= Format::kLargestFinite;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits magnitude(Bits bits) const {
    return Format::magnitude(bits);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits distance(Bits a, Bits b) const {
    return Format::ulp_distance(a, b);
  }
  /// Of finite numbers.
  [[nodiscard]] ULPSCOPE_HOST_DEVICE double value(Bits bits) const {
    return Format::finite_value(bits);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_negative(Bits bits) const {
    return (bits & Format::kSign) != 0;
  }
};

/// The four formats of one byte, distinguished at run time: FloatFormat would be compiled four
/// times.
class SmallFloats {
 public:
  using Bits = std::uint8_t;
  static constexpr bool kIsFloat = true;
  static constexpr unsigned kSize = 1;

  ULPSCOPE_HOST_DEVICE explicit SmallFloats(Dtype dtype) {
    if (dtype == Dtype::float8_e5m2)
      use<Float8E5M2>();
    else if (dtype == Dtype::float8_e4m3fn)
      use<Float8E4M3Fn>();
    else if (dtype == Dtype::float8_e5m2fnuz)
      use<Float8E5M2Fnuz>();
    else
      use<Float8E4M3Fnuz>();
  }

  [[nodiscard]] ULPSCOPE_HOST_DEVICE unsigned size() const { return kSize; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_nan(Bits bits) const {
    return !is_finite(bits) && !is_infinite(bits);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_infinite(Bits bits) const {
    return has_infinity_ && magnitude(bits) == largest_finite_ + 1;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_subnormal(Bits bits) const {
    const Bits size = magnitude(bits);
    return size != 0 && size < 1U << mantissa_bits_;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_zero(Bits bits) const { return magnitude(bits) == 0; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_finite(Bits bits) const {
    return magnitude(bits) <= largest_finite_;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits magnitude(Bits bits) const {
    if (minus_zero_is_nan_ && bits == kSign) return 0xff;
    return static_cast<Bits>(bits & ~kSign);
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits distance(Bits a, Bits b) const {
    return Float8E5M2::ulp_distance(a, b);  // the same for all: signs and sizes
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE double value(Bits bits) const {
    // As a subnormal of the format would be read, then moved to its exponent.
    const unsigned size = bits & ~kSign & 0xffU;
    const unsigned exponent = size >> mantissa_bits_;
    const unsigned mantissa = size & ((1U << mantissa_bits_) - 1);
    const std::uint64_t digits = exponent == 0 ? mantissa : mantissa | 1U << mantissa_bits_;
    const unsigned shift = exponent == 0 ? 0 : exponent - 1;
    const double value = static_cast<double>(digits << shift) * smallest_;
    return is_negative(bits) ? -value : value;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_negative(Bits bits) const {
    return (bits & kSign) != 0;
  }

 private:
  static constexpr Bits kSign = 0x80;

  template <class Format>
  ULPSCOPE_HOST_DEVICE void use() {
    mantissa_bits_ = Format::kMantissaBits;
    largest_finite_ = Format::kLargestFinite;
    has_infinity_ = Format::kHasInfinity;
    minus_zero_is_nan_ = Format::is_nan(kSign);
    smallest_ = Format::finite_value(1);
  }

  unsigned mantissa_bits_ = 0;
  Bits largest_finite_ = 0;
  bool has_infinity_ = false;
  bool minus_zero_is_nan_ = false;
  double smallest_ = 0;
};

/// Integers of any size; bool and types without a rule are their bytes.
class Integers {
 public:
  using Bits = std::uint64_t;
  static constexpr bool kIsFloat = false;
  static constexpr unsigned kSize = 0;  // known at run time only

  ULPSCOPE_HOST_DEVICE explicit Integers(Dtype dtype)
      : size_(size_of(dtype)), sign_(is_signed(dtype) ? Bits{1} << (8 * size_of(dtype) - 1) : 0) {}

  [[nodiscard]] ULPSCOPE_HOST_DEVICE unsigned size() const { return size_; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE static bool is_nan(Bits /*bits*/) { return false; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE static bool is_infinite(Bits /*bits*/) { return false; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE static bool is_subnormal(Bits /*bits*/) { return false; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE static bool is_zero(Bits bits) { return bits == 0; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE static bool is_finite(Bits /*bits*/) { return true; }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits magnitude(Bits bits) const {
    return is_negative(bits) ? extended(0 - extended(bits)) : bits;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits distance(Bits a, Bits b) const {
    // Without the sign's meaning, the bits are in order.
    const Bits first = a ^ sign_;
    const Bits second = b ^ sign_;
    return first > second ? first - second : second - first;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE double value(Bits bits) const {
    const double size = static_cast<double>(magnitude(bits));
    return is_negative(bits) ? -size : size;
  }
  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool is_negative(Bits bits) const {
    return (bits & sign_) != 0;
  }

 private:
  /// The bits of this size.
  [[nodiscard]] ULPSCOPE_HOST_DEVICE Bits extended(Bits bits) const {
    return size_ == 8 ? bits : bits & ((Bits{1} << (8 * size_)) - 1);
  }
  ULPSCOPE_HOST_DEVICE static unsigned size_of(Dtype dtype) {
    switch (dtype) {
      case Dtype::int64:
      case Dtype::uint64:
        return 8;
      case Dtype::int32:
      case Dtype::uint32:
      case Dtype::qint32:
        return 4;
      case Dtype::int16:
      case Dtype::uint16:
        return 2;
      default:
        return 1;
    }
  }
  ULPSCOPE_HOST_DEVICE static bool is_signed(Dtype dtype) {
    return dtype == Dtype::int8 || dtype == Dtype::int16 || dtype == Dtype::int32 ||
           dtype == Dtype::int64 || dtype == Dtype::qint8 || dtype == Dtype::qint32;
  }

  unsigned size_;
  Bits sign_;
};

/// Calls visit(numbers) with those of the dtype.
template <class Visit>
ULPSCOPE_HOST_DEVICE void with_numbers(Dtype dtype, Visit visit) {
  switch (dtype) {
    case Dtype::float32:
    case Dtype::complex64:
      return visit(Floats<Float32>{});
    case Dtype::float64:
    case Dtype::complex128:
      return visit(Floats<Float64>{});
    case Dtype::float16:
    case Dtype::complex32:
      return visit(Floats<Float16>{});
    case Dtype::bfloat16:
      return visit(Floats<BFloat16>{});
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return visit(SmallFloats{dtype});
    default:
      return visit(Integers{dtype});
  }
}

/// A number of a piece.
template <class Numbers>
ULPSCOPE_HOST_DEVICE typename Numbers::Bits number_in(const Piece& piece, unsigned place,
                                                      const Numbers& numbers) {
  const unsigned at = place * numbers.size();
  const std::uint64_t word = (at < 8 ? piece.low : piece.high) >> (8 * (at % 8));
  if constexpr (Numbers::kSize != 0)
    return static_cast<typename Numbers::Bits>(word);
  else
    return numbers.size() == 8 ? word : word & ((std::uint64_t{1} << (8 * numbers.size())) - 1);
}

}  // namespace ulpscope::device
