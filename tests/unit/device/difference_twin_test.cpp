#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "device/twin.hpp"
#include "tests/unit/device/random_layout.hpp"
#include "ulpscope/difference.hpp"
#include "ulpscope/error.hpp"

namespace {

using ulpscope::Difference;
using ulpscope::Dtype;
using ulpscope::core::Order;
using ulpscope::device::DifferenceRecord;
using ulpscope::device::Value;
using ulpscope::device::twin::Turns;
using ulpscope::test::all_dtypes;
using ulpscope::test::Bytes;
using ulpscope::test::bytes_of;
using ulpscope::test::Dims;
using ulpscope::test::random_bytes;

/// All but absolute_rms, which is a sum in a different order, is equal.
void check_equal(const Difference& found, const Difference& expected) {
  CHECK(found.elements == expected.elements);
  CHECK(found.differing == expected.differing);
  CHECK(found.ulp_max == expected.ulp_max);
  CHECK(found.ulp_mean == expected.ulp_mean);
  REQUIRE(found.histogram.size() == expected.histogram.size());
  for (std::size_t i = 0; i < found.histogram.size(); ++i) {
    CHECK(found.histogram[i].lower_bound == expected.histogram[i].lower_bound);
    CHECK(found.histogram[i].count == expected.histogram[i].count);
  }
  CHECK(found.absolute_max == expected.absolute_max);
  CHECK(found.scaled_max == expected.scaled_max);
  CHECK(found.nan.reference == expected.nan.reference);
  CHECK(found.nan.candidate == expected.nan.candidate);
  CHECK(found.inf.reference == expected.inf.reference);
  CHECK(found.inf.candidate == expected.inf.candidate);
  CHECK(found.subnormal.reference == expected.subnormal.reference);
  CHECK(found.subnormal.candidate == expected.subnormal.candidate);
  CHECK(found.signed_zero == expected.signed_zero);
  CHECK(found.sums_equal == expected.sums_equal);
  REQUIRE(found.worst.has_value() == expected.worst.has_value());
  if (found.worst) {
    CHECK(found.worst->index == expected.worst->index);
    CHECK(found.worst->bits == expected.worst->bits);
    CHECK(found.worst->reference == expected.worst->reference);
    CHECK(found.worst->candidate == expected.worst->candidate);
  }
  const double steps = static_cast<double>(expected.elements) + 10;
  CHECK(std::abs(found.absolute_rms - expected.absolute_rms) <=
        steps * std::numeric_limits<double>::epsilon() * expected.absolute_rms);
}

/// Two packed values of one dimension.
class Pair {
 public:
  Pair(Dtype dtype, Bytes reference, Bytes candidate)
      : dtype_(dtype),
        element_(std::max<std::size_t>(element_size(dtype), 1)),
        reference_(std::move(reference)),
        candidate_(std::move(candidate)),
        sizes_{static_cast<std::int64_t>(reference_.size() / element_)} {}

  [[nodiscard]] DifferenceRecord record(std::uint32_t blocks, Turns turns) const {
    return ulpscope::device::twin::difference(value(reference_), value(candidate_), blocks, turns);
  }
  void check(std::uint32_t blocks = 3) const {
    CAPTURE(name(dtype_));
    CAPTURE(sizes_[0]);
    check_equal(
        difference_from(record(blocks, Turns::forward), dtype_, sizes_, {}, reference_.size()),
        ulpscope::difference(dtype_, sizes_, {}, reference_, candidate_));
  }

 private:
  [[nodiscard]] Value value(const Bytes& bytes) const {
    return {{bytes.data(), element_, sizes_, kStrides}, dtype_};
  }

  static inline const Dims kStrides{1};
  Dtype dtype_;
  std::size_t element_;
  Bytes reference_;
  Bytes candidate_;
  Dims sizes_;
};

/// The bytes with some elements replaced: by a neighbor, by the other sign, by anything.
Bytes altered(std::mt19937& random, const Bytes& bytes, std::size_t element, unsigned one_in) {
  Bytes other = bytes;
  for (std::size_t at = 0; at + element <= other.size(); at += element) {
    if (random() % one_in != 0) continue;
    switch (random() % 4) {
      case 0:
        other[at] ^= std::byte{1};
        break;
      case 1:
        other[at + element - 1] ^= std::byte{0x80};
        break;
      case 2:
        for (std::size_t i = 0; i < element; ++i) other[at + i] = std::byte{0};
        break;
      default:
        for (std::size_t i = 0; i < element; ++i)
          other[at + i] = static_cast<std::byte>(random() & 255);
    }
  }
  return other;
}

}  // namespace

TEST_SUITE("device difference") {
  TEST_CASE("random bits of every dtype, equal, near and unrelated, have the core's difference") {
    std::mt19937 random(11);
    for (const Dtype dtype : all_dtypes()) {
      const std::size_t element = std::max<std::size_t>(element_size(dtype), 1);
      for (const std::size_t elements : {0, 1, 3, 100, 5000, 40'000}) {
        Bytes bytes = random_bytes(random, elements * element);
        for (std::size_t at = 0; at + element <= bytes.size(); at += 13 * element)
          std::memset(bytes.data() + at, 0, element);
        Pair(dtype, bytes, bytes).check();
        Pair(dtype, bytes, altered(random, bytes, element, 50)).check();
        Pair(dtype, bytes, random_bytes(random, bytes.size())).check();
      }
    }
  }

  TEST_CASE("squares of doubles may leave the range of doubles") {
    std::mt19937 random(12);
    std::uniform_real_distribution<double> uniform(0.5, 1);
    for (const double scale : {0x1p+1022, 0x1p-560, 0x1p-1060}) {
      CAPTURE(scale);
      std::vector<double> reference(3000);
      std::vector<double> candidate(3000);
      for (double& number : reference) number = uniform(random) * scale;
      for (double& number : candidate) number = uniform(random) * scale;
      Pair(Dtype::float64, bytes_of(reference), bytes_of(candidate)).check();
      Pair(Dtype::complex128, bytes_of(reference), bytes_of(candidate)).check();
    }
  }

  TEST_CASE("a record has the same bits however many blocks there are and whoever comes first") {
    std::mt19937 random(13);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(100'000);
    for (float& number : numbers) number = normal(random);
    const Bytes bytes = bytes_of(numbers);
    const Pair pair(Dtype::float32, bytes, altered(random, bytes, 4, 3));
    const DifferenceRecord expected = pair.record(1, Turns::forward);
    for (const std::uint32_t blocks : {1, 2, 7, 40})
      for (const Turns turns : {Turns::forward, Turns::backward, Turns::shuffled}) {
        const DifferenceRecord found = pair.record(blocks, turns);
        CHECK(found.counts == expected.counts);
        CHECK(found.maxima == expected.maxima);
        CHECK(found.widths == expected.widths);
        CHECK(found.squares.middle == expected.squares.middle);
        CHECK(found.worst.packed == expected.worst.packed);
      }
  }

  TEST_CASE("of equally bad elements the first in logical order is the worst, in any layout") {
    std::mt19937 random(14);
    for (int trial = 0; trial < 100; ++trial) {
      const Dims sizes{1 + static_cast<std::int64_t>(random() % 5),
                       1 + static_cast<std::int64_t>(random() % 5),
                       1 + static_cast<std::int64_t>(random() % 5)};
      Dims strides(3);
      std::vector<std::size_t> order{0, 1, 2};
      std::ranges::shuffle(order, random);
      std::int64_t stride = 1;
      for (const std::size_t place : order) {
        strides[place] = stride;
        stride *= sizes[place];
      }
      std::vector<float> reference(static_cast<std::size_t>(stride), 1.0F);
      std::vector<float> candidate = reference;
      for (float& number : candidate) number += random() % 4 == 0 ? 0.5F : 0.0F;
      const Bytes left = bytes_of(reference);
      const Bytes right = bytes_of(candidate);
      const auto value = [&](const Bytes& bytes, Order in) {
        return Value{{bytes.data(), 4, sizes, strides}, Dtype::float32, in};
      };
      const Difference expected = ulpscope::difference(
          Dtype::float32, sizes, ulpscope::packed_strides(sizes, strides), left, right);
      check_equal(difference_from(ulpscope::device::twin::difference(
                                      value(left, Order::memory), value(right, Order::memory), 2),
                                  Dtype::float32, sizes, ulpscope::packed_strides(sizes, strides),
                                  left.size()),
                  expected);
      check_equal(difference_from(ulpscope::device::twin::difference(
                                      value(left, Order::logical), value(right, Order::logical), 2),
                                  Dtype::float32, sizes, {}, left.size()),
                  expected);
    }
  }

  TEST_CASE("values of different size or dtype are refused") {
    const Bytes bytes(64);
    const Dims sizes{16};
    const Dims fewer{15};
    const Dims strides{1};
    const Value value{{bytes.data(), 4, sizes, strides}, Dtype::float32};
    const Value shorter{{bytes.data(), 4, fewer, strides}, Dtype::float32};
    const Value integers{{bytes.data(), 4, sizes, strides}, Dtype::int32};
    CHECK_THROWS_AS(static_cast<void>(ulpscope::device::twin::difference(value, shorter, 1)),
                    ulpscope::Error);
    CHECK_THROWS_AS(static_cast<void>(ulpscope::device::twin::difference(value, integers, 1)),
                    ulpscope::Error);
  }
}
