#pragma once

#include <bit>
#include <cstdint>
#include <limits>

/// Binary floating-point formats by their bits, and the distance between two numbers on a format's
/// lattice: adjacent numbers are 1 apart, -0 and +0 are the same point, infinity is one step beyond
/// the largest finite number. A NaN has no place on it: check is_nan() first.
namespace ulpscope {

/// How a format uses its highest exponent and -0.
enum class Specials : std::uint8_t {
  ieee,          ///< infinities, and NaNs beyond them
  nan_only,      ///< "fn": no infinity; only all ones is NaN
  unsigned_nan,  ///< "fnuz": no infinity and no -0, whose bits are the only NaN
};

template <class BitsType, int ExponentBits, int MantissaBits, int Bias, Specials Kind>
struct FloatFormat {
  using Bits = BitsType;
  static_assert(std::numeric_limits<Bits>::digits == 1 + ExponentBits + MantissaBits);

  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kLowestExponent = 1 - Bias - MantissaBits;  ///< of the smallest subnormal
  static constexpr bool kHasInfinity = Kind == Specials::ieee;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (ExponentBits + MantissaBits));
  static constexpr Bits kSmallestNormal = static_cast<Bits>(Bits{1} << MantissaBits);
  static constexpr Bits kLargestFinite = static_cast<Bits>(
      Kind == Specials::ieee ? kSign - kSmallestNormal - 1
                             : (Kind == Specials::nan_only ? kSign - 2 : kSign - 1));

  /// The bits without the sign. They order the numbers by size; every NaN is beyond the others.
  [[nodiscard]] static constexpr Bits magnitude(Bits bits) noexcept {
    const Bits size = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    if constexpr (Kind == Specials::unsigned_nan) return bits == kSign ? Bits(~Bits{0}) : size;
    return size;
  }
  [[nodiscard]] static constexpr bool is_nan(Bits bits) noexcept {
    return magnitude(bits) > static_cast<Bits>(kLargestFinite + (kHasInfinity ? 1 : 0));
  }
  [[nodiscard]] static constexpr bool is_infinite(Bits bits) noexcept {
    return kHasInfinity && magnitude(bits) == static_cast<Bits>(kLargestFinite + 1);
  }
  [[nodiscard]] static constexpr bool is_subnormal(Bits bits) noexcept {
    // Zero wraps around to the largest number.
    return static_cast<Bits>(magnitude(bits) - 1) < static_cast<Bits>(kSmallestNormal - 1);
  }

  /// Steps between two numbers, neither of them NaN.
  [[nodiscard]] static constexpr Bits ulp_distance(Bits a, Bits b) noexcept {
    const Bits size_a = static_cast<Bits>(a & static_cast<Bits>(~kSign));
    const Bits size_b = static_cast<Bits>(b & static_cast<Bits>(~kSign));
    const Bits upper = size_a > size_b ? size_a : size_b;
    const Bits lower = size_a > size_b ? size_b : size_a;
    const Bits apart = static_cast<Bits>(upper - lower);
    const Bits across_zero = static_cast<Bits>(size_a + size_b);
    return ((a ^ b) & kSign) != 0 ? across_zero : apart;
  }

  /// The exact number that finite bits represent.
  [[nodiscard]] static constexpr double finite_value(Bits bits) noexcept {
    if constexpr (sizeof(Bits) == 8) {
      return std::bit_cast<double>(bits);
    } else if constexpr (sizeof(Bits) == 4) {
      return std::bit_cast<float>(bits);
    } else if constexpr (Bias == 127) {  // a truncated float
      return std::bit_cast<float>(std::uint32_t{bits} << (23 - MantissaBits));
    } else {
      const auto size = static_cast<std::uint32_t>(bits & static_cast<Bits>(~kSign));
      const float normal =
          std::bit_cast<float>((size << (23 - MantissaBits)) + (std::uint32_t{127 - Bias} << 23));
      const float subnormal = static_cast<float>(static_cast<std::int32_t>(size)) *
                              std::bit_cast<float>(std::uint32_t{127 + kLowestExponent} << 23);
      const float value = size < kSmallestNormal ? subnormal : normal;
      return (bits & kSign) != 0 ? -value : value;
    }
  }
  /// The number that any bits represent; NaN payloads are lost.
  [[nodiscard]] static constexpr double to_double(Bits bits) noexcept {
    if (is_nan(bits)) return std::numeric_limits<double>::quiet_NaN();
    if (!is_infinite(bits)) return finite_value(bits);
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return (bits & kSign) != 0 ? -kInfinite : kInfinite;
  }
};

using Float16 = FloatFormat<std::uint16_t, 5, 10, 15, Specials::ieee>;
using BFloat16 = FloatFormat<std::uint16_t, 8, 7, 127, Specials::ieee>;
using Float32 = FloatFormat<std::uint32_t, 8, 23, 127, Specials::ieee>;
using Float64 = FloatFormat<std::uint64_t, 11, 52, 1023, Specials::ieee>;
using Float8E5M2 = FloatFormat<std::uint8_t, 5, 2, 15, Specials::ieee>;
using Float8E4M3Fn = FloatFormat<std::uint8_t, 4, 3, 7, Specials::nan_only>;
using Float8E5M2Fnuz = FloatFormat<std::uint8_t, 5, 2, 16, Specials::unsigned_nan>;
using Float8E4M3Fnuz = FloatFormat<std::uint8_t, 4, 3, 8, Specials::unsigned_nan>;

[[nodiscard]] constexpr std::uint32_t ulp_distance(float a, float b) noexcept {
  return Float32::ulp_distance(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr std::uint64_t ulp_distance(double a, double b) noexcept {
  return Float64::ulp_distance(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b));
}

static_assert(ulp_distance(0.0F, -0.0F) == 0);
static_assert(ulp_distance(1.0F, std::bit_cast<float>(0x3f800001U)) == 1);
static_assert(ulp_distance(-1.0e-45F, 1.0e-45F) == 2, "distance crosses zero");

}  // namespace ulpscope
