#include "device/rounded.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using ulpscope::BFloat16;
using ulpscope::Float16;
using ulpscope::Float32;
using ulpscope::Float64;
using ulpscope::device::rounded;

/// Every finite number of a format is itself; between two neighbors the nearer is taken, in the
/// middle the even one.
template <class Format>
void check_all() {
  using Bits = typename Format::Bits;
  for (std::uint32_t i = 0; i < Format::kLargestFinite; ++i) {
    const auto bits = static_cast<Bits>(i);
    const double under = Format::finite_value(bits);
    const double over = Format::finite_value(static_cast<Bits>(bits + 1));
    const double middle = under + (over - under) / 2;
    const Bits even = static_cast<Bits>(bits + (bits & 1));
    REQUIRE(rounded<Format>(under) == bits);
    REQUIRE(rounded<Format>(middle) == even);
    REQUIRE(rounded<Format>(std::nextafter(middle, under)) == bits);
    REQUIRE(rounded<Format>(std::nextafter(middle, over)) == bits + 1);
    REQUIRE(rounded<Format>(-middle) == (even | Format::kSign));
  }
}

}  // namespace

TEST_SUITE("rounding") {
  TEST_CASE("to float16 and bfloat16: to nearest even everywhere") {
    check_all<Float16>();
    check_all<BFloat16>();
  }

  TEST_CASE("to float32: as the processor does") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 200000; ++i) {
      const auto number = std::bit_cast<double>(random() & 0xbfffffffffffffffU);
      if (std::isnan(number)) continue;
      REQUIRE(rounded<Float32>(number) == std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    }
  }

  TEST_CASE("to float64: nothing is rounded") {
    for (const double number : {0.0, -0.0, 5e-324, 1.0 / 3, -1e308})
      CHECK(rounded<Float64>(number) == std::bit_cast<std::uint64_t>(number));
  }

  TEST_CASE("beyond the largest number is infinity, and NaN is NaN") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    CHECK(rounded<Float16>(65519.99) == 0x7bff);
    CHECK(rounded<Float16>(65520) == 0x7c00);
    CHECK(rounded<Float16>(kInfinity) == 0x7c00);
    CHECK(rounded<Float16>(-1e300) == 0xfc00);
    CHECK(Float16::is_nan(rounded<Float16>(std::nan(""))));
    CHECK(rounded<Float64>(kInfinity) == std::bit_cast<std::uint64_t>(kInfinity));
  }
}
