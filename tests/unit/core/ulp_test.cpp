#include "ulpscope/ulp.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "tests/unit/core/lattice.hpp"

namespace {

using namespace ulpscope;
using test::Lattice;

/// Checks every number of a format by itself, and the distance of the pairs that `pairs` visits.
template <class Format>
void check_format(Dtype dtype, auto&& pairs) {
  using Bits = typename Format::Bits;
  for (const test::FormatDescription& description : test::kSmallFormats) {
    if (description.dtype != dtype) continue;
    const Lattice& lattice = test::lattice_of(description);
    for (std::size_t bits = 0; bits < lattice.size(); ++bits) {
      const auto own = static_cast<Bits>(bits);
      CAPTURE(bits);
      REQUIRE(Format::is_nan(own) == lattice[bits].nan);
      REQUIRE(Format::is_infinite(own) == lattice[bits].infinite);
      REQUIRE(Format::is_subnormal(own) == lattice[bits].subnormal);
      if (lattice[bits].nan) {
        REQUIRE(std::isnan(Format::to_double(own)));
      } else {
        REQUIRE(Format::to_double(own) == lattice[bits].value);
        REQUIRE(std::signbit(Format::to_double(own)) == std::signbit(lattice[bits].value));
      }
    }
    pairs(lattice.size(), [&](std::size_t a, std::size_t b) {
      if (lattice[a].nan || lattice[b].nan) return;
      const test::Wide apart = lattice[a].position - lattice[b].position;
      const auto expected = static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
      if (Format::ulp_distance(static_cast<Bits>(a), static_cast<Bits>(b)) != expected) {
        CAPTURE(a);
        CAPTURE(b);
        REQUIRE(Format::ulp_distance(static_cast<Bits>(a), static_cast<Bits>(b)) == expected);
      }
    });
  }
}

void all_pairs(std::size_t count, auto&& visit) {
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) visit(a, b);
}

/// Neighbors, the distance to both zeros, and random pairs.
void chosen_pairs(std::size_t count, auto&& visit) {
  std::mt19937 random(5);
  for (std::size_t a = 0; a < count; ++a) {
    visit(a, (a + 1) % count);
    visit(a, 0);
    visit(count / 2, a);
    for (int i = 0; i < 20; ++i) visit(a, random() % count);
  }
}

constexpr auto kAllPairs = [](std::size_t count, auto&& visit) { all_pairs(count, visit); };
constexpr auto kChosenPairs = [](std::size_t count, auto&& visit) { chosen_pairs(count, visit); };

}  // namespace

TEST_SUITE("ulp") {
  TEST_CASE("every pair of 8-bit numbers is as far apart as in the sorted list of all numbers") {
    check_format<Float8E5M2>(Dtype::float8_e5m2, kAllPairs);
    check_format<Float8E4M3Fn>(Dtype::float8_e4m3fn, kAllPairs);
    check_format<Float8E5M2Fnuz>(Dtype::float8_e5m2fnuz, kAllPairs);
    check_format<Float8E4M3Fnuz>(Dtype::float8_e4m3fnuz, kAllPairs);
  }

  TEST_CASE("16-bit numbers agree with the sorted list of all numbers") {
    check_format<Float16>(Dtype::float16, kChosenPairs);
    check_format<BFloat16>(Dtype::bfloat16, kChosenPairs);
  }

  TEST_CASE("n steps of nextafter are n ULP, across zero and up to infinity") {
    constexpr float kLargest = std::numeric_limits<float>::max();
    for (const float start : {0.0F, -0.0F, 1.0F, -1.0F, 5e-45F, -5e-45F, 1.17549435e-38F, 3.5e-38F,
                              65504.0F, std::nextafter(std::nextafter(kLargest, 0.0F), 0.0F)}) {
      float moved = start;
      for (std::uint32_t steps = 0; steps < 100 && !std::isinf(moved); ++steps) {
        CAPTURE(start);
        CHECK(ulp_distance(start, moved) == steps);
        CHECK(ulp_distance(moved, start) == steps);
        moved = std::nextafter(moved, HUGE_VALF);
      }
    }
    CHECK(ulp_distance(kLargest, HUGE_VALF) == 1);
    CHECK(ulp_distance(std::numeric_limits<double>::max(), HUGE_VAL) == 1);
    CHECK(ulp_distance(-5e-324, 5e-324) == 2);
  }

  TEST_CASE("wide formats agree with 128-bit arithmetic") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 200000; ++i) {
      const std::uint64_t a = random();
      const std::uint64_t b = i % 2 == 0 ? random() : a ^ (random() & 0xffff);
      const auto wide_a = test::decode_native<double>(a);
      const auto wide_b = test::decode_native<double>(b);
      if (!wide_a.nan && !wide_b.nan) {
        const test::Wide apart = wide_a.position - wide_b.position;
        REQUIRE(static_cast<test::Wide>(Float64::ulp_distance(a, b)) ==
                (apart < 0 ? -apart : apart));
      }
      const auto low_a = static_cast<std::uint32_t>(a);
      const auto low_b = static_cast<std::uint32_t>(b);
      const auto narrow_a = test::decode_native<float>(low_a);
      const auto narrow_b = test::decode_native<float>(low_b);
      if (!narrow_a.nan && !narrow_b.nan) {
        const test::Wide apart = narrow_a.position - narrow_b.position;
        REQUIRE(static_cast<test::Wide>(Float32::ulp_distance(low_a, low_b)) ==
                (apart < 0 ? -apart : apart));
      }
    }
    CHECK(Float64::ulp_distance(0x7ff0000000000000, 0xfff0000000000000) == 0xffe0000000000000);
  }
}
