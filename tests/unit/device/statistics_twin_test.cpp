#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "device/twin.hpp"
#include "tests/unit/device/random_layout.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/statistics.hpp"

namespace {

using ulpscope::Dtype;
using ulpscope::Statistics;
using ulpscope::device::Value;
using ulpscope::device::twin::Turns;
using ulpscope::test::all_dtypes;
using ulpscope::test::Bytes;
using ulpscope::test::bytes_of;
using ulpscope::test::Dims;
using ulpscope::test::random_bytes;

struct Outcome {
  Statistics statistics;
  ulpscope::Digest digest;
};

Outcome of_twin(Dtype dtype, std::span<const std::byte> bytes, Turns turns = Turns::forward) {
  const Dims sizes{static_cast<std::int64_t>(bytes.size())};
  const Dims strides{1};
  const Value value{{bytes.data(), 1, sizes, strides}, dtype};
  const auto found = ulpscope::device::twin::digests({&value, 1}, true, turns);
  return {statistics_from(found.statistics[0], dtype, bytes.size()), found.digests[0]};
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Whether a result with this rounding error per step is as near as a sum of so many numbers should
/// be.
bool as_near(double found, double expected, double sizes, std::uint64_t elements) {
  if (same_number(found, expected)) return true;
  const double steps = static_cast<double>(elements) + 10;
  return std::abs(found - expected) <= steps * std::numeric_limits<double>::epsilon() * sizes;
}

void check(Dtype dtype, std::span<const std::byte> bytes) {
  CAPTURE(name(dtype));
  CAPTURE(bytes.size());
  const Statistics expected = ulpscope::statistics_of(dtype, bytes);
  const Outcome found = of_twin(dtype, bytes);
  CHECK(found.digest == ulpscope::digest(bytes));
  CHECK(found.statistics.elements == expected.elements);
  CHECK(found.statistics.nan == expected.nan);
  CHECK(found.statistics.inf == expected.inf);
  CHECK(found.statistics.zero == expected.zero);
  CHECK(found.statistics.subnormal == expected.subnormal);
  CHECK(same_number(found.statistics.min, expected.min));
  CHECK(same_number(found.statistics.max, expected.max));
  CHECK(std::signbit(found.statistics.min) == std::signbit(expected.min));
  CHECK(as_near(found.statistics.l2, expected.l2, expected.l2, expected.elements));
  // The mean of sizes is at most their root mean square.
  const auto count = static_cast<double>(std::max<std::uint64_t>(expected.elements, 1));
  const std::uint64_t finite = expected.elements - expected.nan - expected.inf;
  const double mean_size =
      expected.l2 / std::sqrt(static_cast<double>(std::max<std::uint64_t>(finite, 1)));
  CHECK(
      as_near(found.statistics.mean, expected.mean, mean_size, static_cast<std::uint64_t>(count)));
}

}  // namespace

TEST_SUITE("device statistics") {
  TEST_CASE("random bits of every dtype and length have the core's statistics") {
    std::mt19937 random(5);
    const Bytes bytes = random_bytes(random, 1'100'000);
    for (const Dtype dtype : all_dtypes()) {
      const std::size_t size = std::max<std::size_t>(element_size(dtype), 1);
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{100},
            std::size_t{240}, std::size_t{241}, std::size_t{300}, std::size_t{1025},
            std::size_t{4096}, std::size_t{4097}, std::size_t{5000}, std::size_t{70'000},
            bytes.size()})
        check(dtype, std::span(bytes).first(length / size * size));
    }
  }

  TEST_CASE("numbers near each other, zeros of both signs and subnormals") {
    std::mt19937 random(6);
    std::normal_distribution<float> normal(3, 1);
    std::vector<float> numbers(30'000);
    for (float& number : numbers) number = normal(random);
    for (std::size_t i = 0; i < numbers.size(); i += 7) numbers[i] = i % 2 == 0 ? 0.0F : -0.0F;
    for (std::size_t i = 3; i < numbers.size(); i += 11) numbers[i] = 1e-42F;
    check(Dtype::float32, bytes_of(numbers));
  }

  TEST_CASE("squares and sums of doubles may leave the range of doubles") {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0.5, 1);
    for (const double scale : {0x1p+1023, 0x1p+600, 0x1p-530, 0x1p-1060}) {
      CAPTURE(scale);
      std::vector<double> numbers(4000);
      for (double& number : numbers) number = uniform(random) * scale;
      check(Dtype::float64, bytes_of(numbers));
      numbers[17] = -1.5;
      check(Dtype::float64, bytes_of(numbers));
    }
  }

  TEST_CASE("nothing but NaNs has no extremes and no mean") {
    const std::vector<float> numbers(5000, std::numeric_limits<float>::quiet_NaN());
    check(Dtype::float32, bytes_of(numbers));
  }

  TEST_CASE("all results have the same bits whichever thread comes first") {
    std::mt19937 random(8);
    std::vector<double> numbers(200'000);
    std::normal_distribution<double> normal;
    for (double& number : numbers) number = normal(random);
    const Bytes bytes = bytes_of(numbers);
    const Statistics expected = of_twin(Dtype::float64, bytes).statistics;
    for (const Turns turns : {Turns::backward, Turns::shuffled}) {
      const Statistics found = of_twin(Dtype::float64, bytes, turns).statistics;
      CHECK(std::bit_cast<std::uint64_t>(found.mean) ==
            std::bit_cast<std::uint64_t>(expected.mean));
      CHECK(std::bit_cast<std::uint64_t>(found.l2) == std::bit_cast<std::uint64_t>(expected.l2));
    }
  }
}
