#include "ulpscope/statistics.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "core/statistics_kernel.hpp"
#include "tests/unit/core/lattice.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;
using Bytes = std::vector<std::byte>;

/// One number at a time, in long double, with the formats' textbook definition.
class Oracle {
 public:
  void add(const test::Number& number) {
    ++result_.elements;
    if (number.nan) {
      ++result_.nan;
      return;
    }
    result_.min = seen_ ? std::min(result_.min, number.value) : number.value;
    result_.max = seen_ ? std::max(result_.max, number.value) : number.value;
    seen_ = true;
    if (number.infinite) {
      ++result_.inf;
      return;
    }
    result_.zero += number.value == 0 ? 1 : 0;
    result_.subnormal += number.subnormal ? 1 : 0;
    ++finite_;
    sum_ += number.value;
    square_ += static_cast<long double>(number.value) * number.value;
  }

  Statistics result() {
    if (!seen_) result_.min = result_.max = NAN;
    result_.mean = finite_ == 0 ? NAN : static_cast<double>(sum_ / finite_);
    result_.l2 = static_cast<double>(std::sqrt(square_));
    return result_;
  }

  std::uint64_t finite() const { return finite_; }

 private:
  Statistics result_;
  bool seen_ = false;
  std::uint64_t finite_ = 0;
  long double sum_ = 0;
  long double square_ = 0;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_equal(const Statistics& actual, Oracle& oracle) {
  const Statistics expected = oracle.result();
  CHECK(actual.elements == expected.elements);
  CHECK(actual.nan == expected.nan);
  CHECK(actual.inf == expected.inf);
  CHECK(actual.zero == expected.zero);
  CHECK(actual.subnormal == expected.subnormal);
  CHECK(same(actual.min, expected.min));
  CHECK(same(actual.max, expected.max));
  CHECK(same(std::isnan(actual.mean), std::isnan(expected.mean)));
  if (oracle.finite() == 0) return;
  // Rounding errors of a mean are in proportion to the numbers' size, not to the mean.
  const double size = expected.l2 / std::sqrt(static_cast<double>(oracle.finite()));
  CHECK(std::abs(actual.mean - expected.mean) <= 1e-14 * size);
  CHECK(std::abs(actual.l2 - expected.l2) <= 1e-14 * expected.l2);
}

template <class Bits>
Bytes random_bits(std::size_t count) {
  std::mt19937_64 random(count);
  Bytes bytes(count * sizeof(Bits));
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<Bits>(random());
    std::memcpy(&bytes[i * sizeof(Bits)], &bits, sizeof(bits));
  }
  return bytes;
}

template <class Bits>
Bits bits_at(const Bytes& bytes, std::size_t place) {
  Bits bits;
  std::memcpy(&bits, &bytes[place * sizeof(Bits)], sizeof(bits));
  return bits;
}

/// Lengths around rows and blocks of the kernels.
constexpr std::size_t kLengths[] = {0, 1, 31, 32, 33, 1023, 1024, 1025, 5000};

template <class Bits, class Decode>
void check_lengths(Dtype dtype, Decode decode) {
  CAPTURE(name(dtype));
  for (const std::size_t length : kLengths) {
    CAPTURE(length);
    const std::size_t parts = is_complex(dtype) ? 2 : 1;
    const Bytes bytes = random_bits<Bits>(length * parts);
    Oracle oracle;
    for (std::size_t i = 0; i < length * parts; ++i) oracle.add(decode(bits_at<Bits>(bytes, i)));
    check_equal(statistics_of(dtype, bytes), oracle);
  }
}

template <class Integer>
test::Number decode_integer(Integer value) {
  test::Number number;
  number.value = static_cast<double>(value);
  return number;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_CASE("statistics of small float formats are those of their numbers") {
  for (const test::FormatDescription& format : test::kSmallFormats) {
    const test::Lattice& lattice = test::lattice_of(format);
    if (format.bits == 8)
      check_lengths<std::uint8_t>(format.dtype, [&](auto bits) { return lattice[bits]; });
    else
      check_lengths<std::uint16_t>(format.dtype, [&](auto bits) { return lattice[bits]; });
    if (format.dtype == Dtype::float16)
      check_lengths<std::uint16_t>(Dtype::complex32, [&](auto bits) { return lattice[bits]; });
  }
}

TEST_CASE("statistics of float32 and complex64 are those of their numbers") {
  const auto decode = [](std::uint32_t bits) { return test::decode_native<float>(bits); };
  check_lengths<std::uint32_t>(Dtype::float32, decode);
  check_lengths<std::uint32_t>(Dtype::complex64, decode);
}

TEST_CASE("statistics of integers are those of their numbers") {
  check_lengths<std::uint8_t>(Dtype::uint8, decode_integer<std::uint8_t>);
  check_lengths<std::int8_t>(Dtype::int8, decode_integer<std::int8_t>);
  check_lengths<std::uint16_t>(Dtype::uint16, decode_integer<std::uint16_t>);
  check_lengths<std::int16_t>(Dtype::int16, decode_integer<std::int16_t>);
  check_lengths<std::uint32_t>(Dtype::uint32, decode_integer<std::uint32_t>);
  check_lengths<std::int32_t>(Dtype::int32, decode_integer<std::int32_t>);
  check_lengths<std::uint64_t>(Dtype::uint64, decode_integer<std::uint64_t>);
  check_lengths<std::int64_t>(Dtype::int64, decode_integer<std::int64_t>);
}

TEST_CASE("statistics of float64 survive squares beyond its range") {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const Statistics large = statistics_of(Dtype::float64, bytes_of<double>({kLargest, kLargest}));
  CHECK(large.mean == kLargest);
  const Statistics one = statistics_of(Dtype::float64, bytes_of<double>({-3e200, 4e200}));
  CHECK(one.l2 == doctest::Approx(5e200).epsilon(1e-15));
  CHECK(one.mean == doctest::Approx(5e199).epsilon(1e-15));
  const Statistics small = statistics_of(Dtype::float64, bytes_of<double>({3e-200, 0, 4e-200}));
  CHECK(small.l2 == doctest::Approx(5e-200).epsilon(1e-15));
  CHECK(small.zero == 1);
  const Statistics least = statistics_of(Dtype::float64, bytes_of<double>({5e-324}));
  CHECK(least.l2 == 5e-324);
  CHECK(least.subnormal == 1);
}

TEST_CASE("statistics of float64 and complex128 are those of their numbers") {
  std::vector<double> numbers(5002);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (double& number : numbers) number = normal(random);
  numbers[7] = NAN;
  numbers[9] = -HUGE_VAL;
  numbers[2000] = -0.0;
  numbers[2001] = -5e-324;
  Oracle oracle;
  for (const double number : numbers)
    oracle.add(test::decode_native<double>(std::bit_cast<std::uint64_t>(number)));
  check_equal(statistics_of(Dtype::float64, bytes_of(numbers)), oracle);
  check_equal(statistics_of(Dtype::complex128, bytes_of(numbers)), oracle);
}

TEST_CASE("a value without numbers has neither extremes nor a mean") {
  const Statistics nothing = statistics_of(Dtype::float32, {});
  CHECK(std::isnan(nothing.min));
  CHECK(std::isnan(nothing.mean));
  CHECK(nothing.l2 == 0);
  const Statistics infinite = statistics_of(Dtype::float32, bytes_of<float>({HUGE_VALF, NAN}));
  CHECK(infinite.min == HUGE_VAL);
  CHECK(std::isnan(infinite.mean));
}

TEST_CASE("statistics have the same bits at every level and whatever the rounding mode") {
  std::vector<float> numbers(10007);
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  for (float& number : numbers) number = normal(random);
  numbers[5] = 1e-45F;
  const Bytes bytes = bytes_of(numbers);
  const Statistics expected = statistics_of(Dtype::float32, bytes);
  const auto check = [&](const Statistics& actual) {
    CHECK(std::memcmp(&actual, &expected, sizeof(actual)) == 0);
  };
  for (const core::CpuLevel level : core::kCpuLevels)
    if (supported(level)) check(core::statistics_at(level, Dtype::float32, bytes));
  std::fesetround(FE_UPWARD);
  const Statistics upward = statistics_of(Dtype::float32, bytes);
  std::fesetround(FE_TONEAREST);
  check(upward);
}

TEST_CASE("bytes that are no whole number of elements are refused") {
  CHECK_THROWS_AS(static_cast<void>(statistics_of(Dtype::complex64, Bytes(12))), Error);
  CHECK(statistics_of(static_cast<Dtype>(17), Bytes(3)).elements == 3);
}

}  // namespace
