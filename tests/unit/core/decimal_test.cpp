#include "core/decimal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "core/number_text.hpp"
#include "tests/unit/core/lattice.hpp"

using ulpscope::Dtype;
using ulpscope::core::Integral;
using ulpscope::core::number_text;
using ulpscope::core::shortest;

namespace {

/// Whether a decimal of `digits` significant digits reads back as `value`: only the two that
/// enclose it can.
bool has_shorter(const ulpscope::test::Lattice& lattice, double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*Le", digits - 1, static_cast<long double>(value));
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  const long double unit = powl(10.0L, exponent - digits + 1);
  const long double scaled = static_cast<long double>(value) / unit;
  for (const long double candidate : {floorl(scaled), ceill(scaled)})
    if (candidate > 0 && lattice.nearest(static_cast<double>(candidate * unit)) == value)
      return true;
  return false;
}

int significant_digits(const std::string& text) {
  std::string digits;
  for (const char letter : text.substr(0, text.find('e')))
    if (letter >= '0' && letter <= '9') digits += letter;
  digits.erase(0, digits.find_first_not_of('0'));
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return static_cast<int>(digits.size());
}

}  // namespace

TEST_SUITE("decimal") {
  TEST_CASE("numbers are laid out as Python does") {
    struct Case {
      double value;
      const char* text;
    };
    for (const Case& c :
         {Case{1e-5, "1e-05"}, Case{0.1, "0.1"}, Case{1.0, "1.0"}, Case{-0.0, "-0.0"},
          Case{0.0001, "0.0001"}, Case{0.00012345, "0.00012345"}, Case{1e15, "1000000000000000.0"},
          Case{1e16, "1e+16"}, Case{123456.789, "123456.789"}, Case{1.5e-7, "1.5e-07"},
          Case{1e100, "1e+100"}, Case{5e-324, "5e-324"}, Case{-2.5, "-2.5"},
          Case{1.7976931348623157e308, "1.7976931348623157e+308"}, Case{100.0, "100.0"},
          Case{HUGE_VAL, "inf"}, Case{-HUGE_VAL, "-inf"}, Case{std::nan(""), "nan"}})
      CHECK(shortest(c.value, Integral::with_point) == c.text);
  }

  TEST_CASE("values have no point where they need none") {
    CHECK(shortest(1.0) == "1");
    CHECK(shortest(-0.0) == "-0");
    CHECK(shortest(0.1F) == "0.1");
    CHECK(shortest(16777216.0F) == "16777216");
    CHECK(shortest(-0.00125001383F) == "-0.0012500138");
    CHECK(shortest(std::numeric_limits<float>::max()) == "3.4028235e+38");
  }

  TEST_CASE("small formats print what reads back in them") {
    CHECK(number_text(Dtype::float16, 0x2e66) == "0.1");
    CHECK(number_text(Dtype::float16, 0x7bff) == "65500");
    CHECK(number_text(Dtype::float16, 0x0001) == "6e-08");
    CHECK(number_text(Dtype::float16, 0x8000) == "-0");
    CHECK(number_text(Dtype::float16, 0x7c00) == "inf");
    CHECK(number_text(Dtype::float16, 0xfe00) == "nan");
    CHECK(number_text(Dtype::bfloat16, 0x3dcd) == "0.1");
    CHECK(number_text(Dtype::float8_e4m3fn, 0x7e) == "450");
    CHECK(number_text(Dtype::float8_e5m2fnuz, 0x80) == "nan");
  }

  TEST_CASE("every number of the small formats prints the shortest decimal that reads back") {
    for (const auto& format : ulpscope::test::kSmallFormats) {
      const ulpscope::test::Lattice& lattice = ulpscope::test::lattice_of(format);
      CAPTURE(ulpscope::name(format.dtype));
      for (std::size_t bits = 0; bits < lattice.size(); ++bits) {
        const ulpscope::test::Number& number = lattice[bits];
        if (number.nan || number.infinite || number.value == 0) continue;
        const std::string text = number_text(format.dtype, bits);
        CAPTURE(text);
        REQUIRE(lattice.nearest(std::strtod(text.c_str(), nullptr)) == number.value);
        const int digits = significant_digits(text);
        if (digits > 1) REQUIRE_FALSE(has_shorter(lattice, std::abs(number.value), digits - 1));
      }
    }
  }

  TEST_CASE("integers are plain") {
    CHECK(number_text(Dtype::int8, 0xff) == "-1");
    CHECK(number_text(Dtype::uint8, 0xff) == "255");
    CHECK(number_text(Dtype::int64, 0x8000000000000000) == "-9223372036854775808");
    CHECK(number_text(Dtype::uint64, ~0ULL) == "18446744073709551615");
    CHECK(number_text(Dtype::bool_, 1) == "1");
  }

  TEST_CASE("complex numbers carry the sign of the second part") {
    using ulpscope::core::complex_text;
    CHECK(complex_text(Dtype::complex64, 0x3f800000, 0x40000000) == "(1+2j)");
    CHECK(complex_text(Dtype::complex64, 0x3f800000, 0xc0000000) == "(1-2j)");
    CHECK(complex_text(Dtype::complex32, 0x2e66, 0x7e00) == "(0.1+nanj)");
  }
}
