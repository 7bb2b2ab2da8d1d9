#include "ulpscope/difference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <limits>
#include <random>

#include "core/difference_kernel.hpp"
#include "tests/unit/core/difference_oracle.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/ulp.hpp"

namespace {

using namespace ulpscope;
using Bytes = std::vector<std::byte>;
using Dims = std::vector<std::int64_t>;

constexpr Dtype kAllDtypes[] = {
    Dtype::uint8,     Dtype::int8,        Dtype::int16,           Dtype::int32,
    Dtype::int64,     Dtype::float16,     Dtype::float32,         Dtype::float64,
    Dtype::complex32, Dtype::complex64,   Dtype::complex128,      Dtype::bool_,
    Dtype::bfloat16,  Dtype::float8_e5m2, Dtype::float8_e4m3fn,   Dtype::float8_e5m2fnuz,
    Dtype::uint16,    Dtype::uint32,      Dtype::float8_e4m3fnuz, Dtype::uint64};

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Dims row_major(const Dims& shape) {
  Dims strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

void check_equal(const Difference& actual, const test::Expected& expected) {
  const Difference& wanted = expected.difference;
  CHECK(actual.elements == wanted.elements);
  CHECK(actual.differing == wanted.differing);
  CHECK(actual.ulp_max == wanted.ulp_max);
  CHECK(actual.ulp_mean == doctest::Approx(wanted.ulp_mean).epsilon(1e-15));
  REQUIRE(actual.histogram.size() == wanted.histogram.size());
  for (std::size_t i = 0; i < wanted.histogram.size(); ++i) {
    CHECK(actual.histogram[i].lower_bound == wanted.histogram[i].lower_bound);
    CHECK(actual.histogram[i].count == wanted.histogram[i].count);
  }
  CHECK(actual.absolute_max == wanted.absolute_max);
  if (std::isfinite(actual.absolute_max))
    CHECK(std::abs(actual.absolute_rms - expected.rms) <= 1e-13 * expected.rms);
  CHECK(actual.scaled_max == wanted.scaled_max);
  CHECK(actual.nan.reference == wanted.nan.reference);
  CHECK(actual.nan.candidate == wanted.nan.candidate);
  CHECK(actual.inf.reference == wanted.inf.reference);
  CHECK(actual.inf.candidate == wanted.inf.candidate);
  CHECK(actual.subnormal.reference == wanted.subnormal.reference);
  CHECK(actual.subnormal.candidate == wanted.subnormal.candidate);
  CHECK(actual.signed_zero == wanted.signed_zero);
  CHECK(actual.sums_equal == wanted.sums_equal);
  REQUIRE(actual.worst.has_value() == wanted.worst.has_value());
  if (!wanted.worst) return;
  CHECK(actual.worst->index == wanted.worst->index);
  CHECK(actual.worst->bits == wanted.worst->bits);
  CHECK(actual.worst->bit_width == wanted.worst->bit_width);
}

/// All instruction sets against the oracle, and against each other to the last bit.
void check(Dtype dtype, const Dims& shape, const Dims& strides, const Bytes& reference,
           const Bytes& candidate) {
  CAPTURE(name(dtype));
  CAPTURE(reference.size());
  const auto expected = test::expected_difference(dtype, shape, strides, reference, candidate);
  const Difference best = difference(dtype, shape, strides, reference, candidate);
  for (const auto level : core::kCpuLevels) {
    if (!supported(level)) continue;
    CAPTURE(static_cast<int>(level));
    const Difference actual = difference_at(level, dtype, shape, strides, reference, candidate);
    check_equal(actual, expected);
    CHECK(actual.absolute_rms == best.absolute_rms);
    CHECK(actual.ulp_mean == best.ulp_mean);
  }
}

/// Random numbers of a dtype in a chosen mood: any bits at all, a few kinds of them, or tame ones.
class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  Bytes bits(std::size_t size) {
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_() & 255);
    return bytes;
  }

  /// Numbers with the high bits of `bits`: NaNs, infinities, zeros and subnormals are frequent.
  Bytes extreme(Dtype dtype, std::size_t elements) {
    const std::size_t size = number_size(dtype);
    Bytes bytes(elements * element_size(dtype));
    for (std::size_t i = 0; i < bytes.size(); i += size) {
      const unsigned kind = random_() % 8;
      for (std::size_t byte = 0; byte < size; ++byte)
        bytes[i + byte] = static_cast<std::byte>(kind < 4 ? random_() & 255 : 0);
      if (kind == 5) bytes[i] = std::byte{3};
      if (kind == 6) set_top(bytes, i, size, 0x7f, 0x80);
      if (kind == 7) set_top(bytes, i, size, 0x7c, 0x00);
      if (random_() % 2 == 0) bytes[i + size - 1] ^= std::byte{0x80};
    }
    return bytes;
  }

  /// Changes about one element in `rarity` by a few steps of its lowest byte.
  Bytes nudged(Bytes bytes, Dtype dtype, unsigned rarity) {
    const std::size_t size = number_size(dtype);
    for (std::size_t i = 0; i < bytes.size(); i += size)
      if (random_() % rarity == 0)
        bytes[i] = static_cast<std::byte>((static_cast<unsigned>(bytes[i]) + random_() % 4) & 255);
    return bytes;
  }

  /// Flips signs here and there.
  Bytes flipped(Bytes bytes, Dtype dtype, unsigned rarity) {
    const std::size_t size = number_size(dtype);
    for (std::size_t i = 0; i < bytes.size(); i += size)
      if (random_() % rarity == 0) bytes[i + size - 1] ^= std::byte{0x80};
    return bytes;
  }

 private:
  static std::size_t number_size(Dtype dtype) {
    return element_size(dtype) / (is_complex(dtype) ? 2 : 1);
  }
  static void set_top(Bytes& bytes, std::size_t at, std::size_t size, unsigned top, unsigned next) {
    bytes[at + size - 1] = static_cast<std::byte>(top);
    if (size > 1) bytes[at + size - 2] = static_cast<std::byte>(next);
  }

  std::mt19937 random_;
};

/// Two blocks of a format's numbers: neighbors around one of its borders, other numbers, or equal
/// ones.
template <class Format>
void add_block(std::mt19937& random, std::vector<typename Format::Bits>& reference,
               std::vector<typename Format::Bits>& candidate) {
  using Bits = typename Format::Bits;
  constexpr Bits kCalm = Format::kLargestFinite / 2;
  const Bits borders[] = {0, Format::kSmallestNormal, Format::kLargestFinite, kCalm};
  const Bits border = borders[random() % 4];
  const unsigned rarity = random() % 2 == 0 ? 1 : 1000;
  const bool equal = random() % 3 == 0;
  const bool near = random() % 2 == 0;
  const bool one_sign = random() % 2 == 0;
  const Bits reach = random() % 2 == 0 ? 4 : 200;
  for (std::size_t i = 0; i < core::kPieceElements; ++i) {
    const auto any = [&] {
      return static_cast<Bits>(random() * std::uint64_t{0x9e3779b97f4a7c15});
    };
    const auto step = [&] { return static_cast<Bits>(random() % reach); };
    const Bits middle = random() % rarity == 0 ? border : kCalm;
    const Bits low = middle > reach ? static_cast<Bits>(middle - reach / 2) : middle;
    Bits left = near ? static_cast<Bits>(low + step()) : any();
    if (random() % 2 == 0) left ^= Format::kSign;
    Bits right = near ? static_cast<Bits>(low + step()) : any();
    right = static_cast<Bits>((right & ~Format::kSign) | (left & Format::kSign));
    if (!one_sign && random() % 2 == 0) right ^= Format::kSign;
    reference.push_back(left);
    candidate.push_back(equal ? left : right);
  }
}

template <class Format>
void check_blocks(Dtype dtype) {
  std::mt19937 random(13);
  for (int repetition = 0; repetition < 150; ++repetition) {
    std::vector<typename Format::Bits> reference;
    std::vector<typename Format::Bits> candidate;
    for (int block = 0; block < 9; ++block) add_block<Format>(random, reference, candidate);
    const Dims shape = {static_cast<std::int64_t>(reference.size())};
    check(dtype, shape, {1}, bytes_of(reference), bytes_of(candidate));
  }
}

}  // namespace

TEST_SUITE("difference") {
  TEST_CASE("blocks that differ in other ways than those before them agree with the oracle") {
    check_blocks<Float16>(Dtype::float16);
    check_blocks<BFloat16>(Dtype::bfloat16);
    check_blocks<Float32>(Dtype::float32);
    check_blocks<Float64>(Dtype::float64);
  }

  TEST_CASE("all pairs of 8-bit numbers agree with the oracle") {
    Bytes reference(65536);
    Bytes candidate(65536);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      reference[i] = static_cast<std::byte>(i & 255);
      candidate[i] = static_cast<std::byte>(i >> 8);
    }
    for (const Dtype dtype : kAllDtypes)
      if (element_size(dtype) == 1) check(dtype, {256, 256}, {256, 1}, reference, candidate);
  }

  TEST_CASE("values of any bits agree with the oracle, at every size around a block") {
    Maker maker(1);
    for (const Dtype dtype : kAllDtypes)
      for (const std::int64_t elements : {1, 2, 63, 1023, 1024, 1025, 2048, 5000}) {
        const std::size_t size = static_cast<std::size_t>(elements) * element_size(dtype);
        const Bytes reference = maker.bits(size);
        check(dtype, {elements}, {1}, reference, maker.bits(size));
        check(dtype, {elements}, {1}, reference, reference);
        check(dtype, {elements}, {1}, reference, maker.nudged(reference, dtype, 3));
        check(dtype, {elements}, {1}, reference, maker.nudged(reference, dtype, 3000));
        check(dtype, {elements}, {1}, reference, maker.flipped(reference, dtype, 5));
      }
  }

  TEST_CASE("NaNs, infinities, zeros and subnormals agree with the oracle") {
    Maker maker(2);
    for (const Dtype dtype : kAllDtypes)
      for (const std::int64_t elements : {1, 5, 1024, 3000}) {
        const auto count = static_cast<std::size_t>(elements);
        const Bytes reference = maker.extreme(dtype, count);
        check(dtype, {elements}, {1}, reference, maker.extreme(dtype, count));
        check(dtype, {elements}, {1}, reference, reference);
        check(dtype, {elements}, {1}, reference, maker.nudged(reference, dtype, 2));
        check(dtype, {elements}, {1}, reference, maker.flipped(reference, dtype, 2));
        const Bytes zeros(reference.size());
        check(dtype, {elements}, {1}, zeros, maker.flipped(zeros, dtype, 3));
        check(dtype, {elements}, {1}, zeros, reference);
      }
  }

  TEST_CASE("permuted and expanded layouts report logical indices") {
    Maker maker(3);
    struct Layout {
      Dims shape, strides;
      std::size_t elements;
    };
    for (const Layout& layout :
         {Layout{{2, 3, 4, 5}, {60, 1, 15, 3}, 120}, Layout{{7, 11}, {1, 7}, 77},
          Layout{{3, 40, 50}, {1, 150, 3}, 6000}, Layout{{4, 5}, {0, 1}, 5},
          Layout{{2, 1, 30}, {1, 77, 2}, 60}, Layout{{}, {}, 1}})
      for (const Dtype dtype : {Dtype::float32, Dtype::int8, Dtype::complex64, Dtype::bfloat16}) {
        const Bytes reference = maker.extreme(dtype, layout.elements);
        check(dtype, layout.shape, layout.strides, reference, maker.nudged(reference, dtype, 2));
        const Bytes zeros(reference.size());
        check(dtype, layout.shape, layout.strides, zeros, maker.nudged(zeros, dtype, 2));
        check(dtype, layout.shape, layout.strides, zeros, maker.nudged(zeros, dtype, 500));
      }
  }

  TEST_CASE("of equal differences the lowest logical index is reported, not the first in memory") {
    const std::vector<float> zeros(12, 0.0F);
    std::vector<float> ones(12, 0.0F);
    ones[1] = 1;  // row 1, column 0
    ones[6] = 1;  // row 0, column 2
    const auto result =
        difference(Dtype::float32, Dims{3, 4}, Dims{1, 3}, bytes_of(zeros), bytes_of(ones));
    REQUIRE(result.worst.has_value());
    CHECK(result.worst->index == Dims{0, 2});
    CHECK(result.worst->candidate == "1");

    const std::vector<float> many_zeros(6000, 0.0F);
    std::vector<float> far_apart(6000, 0.0F);
    far_apart[5] = 1;     // row 5, column 0
    far_apart[5900] = 1;  // row 0, column 59
    const auto distant = difference(Dtype::float32, Dims{100, 60}, Dims{1, 100},
                                    bytes_of(many_zeros), bytes_of(far_apart));
    CHECK(distant.worst.value().index == Dims{0, 59});
  }

  TEST_CASE("a NaN against a number is the worst, then infinite, then the largest difference") {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const std::vector<float> reference{1, 2, 3, 4, kNan};
    const auto worst = [&](std::vector<float> candidate) {
      return difference(Dtype::float32, Dims{5}, {}, bytes_of(reference), bytes_of(candidate))
          .worst.value();
    };
    CHECK(worst({1, 9, kInf, kNan, kNan}).candidate == "nan");
    CHECK(worst({1, 9, kInf, 4, kNan}).candidate == "inf");
    CHECK(worst({1, 9, 3, 5, kNan}).index == Dims{1});
    CHECK(worst({1, 2, 3, 4, -kNan}).index == Dims{4});
    CHECK(worst({1, 2, 3, 4, -kNan}).bits[1] == 0xffc00000);
    CHECK(worst({1, 2, 3, std::nextafter(4.0F, 5.0F), -kNan}).index == Dims{3});
  }

  TEST_CASE("the same numbers in another order add up to the same") {
    Maker maker(14);
    for (const Dtype dtype : kAllDtypes) {
      constexpr std::int64_t kElements = 5000;
      const std::size_t size = element_size(dtype);
      const Bytes reference = maker.bits(kElements * size);
      Bytes turned;
      for (std::size_t element = kElements; element-- > 0;)
        turned.insert(turned.end(), &reference[element * size], &reference[element * size] + size);
      check(dtype, {kElements}, {1}, reference, turned);
      CHECK(difference(dtype, {{kElements}}, {}, reference, turned).sums_equal);
    }
  }

  TEST_CASE("identical values have nothing to report but their counts") {
    const std::vector<float> values{0, 1, -2, 5e-45F, std::numeric_limits<float>::infinity()};
    const auto result = difference(Dtype::float32, Dims{5}, {}, bytes_of(values), bytes_of(values));
    CHECK(result.differing == 0);
    CHECK_FALSE(result.worst.has_value());
    CHECK(result.subnormal.candidate == 1);
    CHECK(result.inf.reference == 1);
    CHECK(result.scaled_max == 0.0);
  }

  TEST_CASE("empty values differ nowhere") {
    for (const Dims& shape : {Dims{0}, Dims{3, 0, 2}}) {
      const auto result = difference(Dtype::float32, shape, row_major(shape), {}, {});
      CHECK(result.elements == 0);
      CHECK(result.histogram.empty());
      CHECK_FALSE(result.worst.has_value());
      CHECK_FALSE(result.scaled_max.has_value());
    }
  }

  TEST_CASE("a value without dimensions has one element with an empty index") {
    const auto result = difference(Dtype::float64, {}, {}, bytes_of(std::vector<double>{1.0}),
                                   bytes_of(std::vector<double>{1.5}));
    CHECK(result.elements == 1);
    CHECK(result.worst.value().index.empty());
    CHECK(result.worst->reference == "1");
    CHECK(result.worst->candidate == "1.5");
    CHECK(result.absolute_rms == 0.5);
  }

  TEST_CASE("the larger part of a complex number counts, and both are shown") {
    const std::vector<float> reference{1, 2};
    const std::vector<float> candidate{1.5F, 0};
    const auto result =
        difference(Dtype::complex64, Dims{1}, {}, bytes_of(reference), bytes_of(candidate));
    CHECK(result.absolute_max == 2);
    CHECK(result.worst.value().reference == "(1+2j)");
    CHECK(result.worst->candidate == "(1.5+0j)");
    CHECK(result.worst->bits[0] == 0x40000000);
    CHECK(result.worst->bit_width == 32);
  }

  TEST_CASE("differences whose squares leave float64 still have a root mean square") {
    const std::vector<double> zeros(3, 0.0);
    for (const double size : {1e200, 1e-200, 5e-324, 1e300}) {
      CAPTURE(size);
      const auto result = difference(Dtype::float64, Dims{3}, {}, bytes_of(zeros),
                                     bytes_of(std::vector<double>{size, -size, size}));
      CHECK(result.absolute_rms == doctest::Approx(size).epsilon(1e-14));
    }
  }

  TEST_CASE("pieces give what the whole gives") {
    std::mt19937_64 random(5);
    for (const Dtype dtype : kAllDtypes) {
      CAPTURE(static_cast<int>(dtype));
      const std::size_t pieces = 3 * DifferenceStream::kPieceBytes;
      const std::size_t size = pieces + 7 * element_size(dtype);
      Bytes reference(size);
      for (std::byte& byte : reference) byte = static_cast<std::byte>(random());
      Bytes candidate = reference;
      for (int k = 0; k < 50; ++k) candidate[random() % size] = static_cast<std::byte>(random());
      const Dims shape{static_cast<std::int64_t>(size / element_size(dtype))};
      DifferenceStream stream(dtype, shape, {});
      do {
        for (std::size_t at = 0; at < size; at += DifferenceStream::kPieceBytes) {
          const std::size_t bytes = std::min(DifferenceStream::kPieceBytes, size - at);
          stream.update(std::span(reference).subspan(at, bytes),
                        std::span(candidate).subspan(at, bytes));
        }
      } while (stream.again());
      const Difference whole = difference(dtype, shape, {}, reference, candidate);
      const Difference streamed = stream.finish();
      check_equal(streamed, {whole, whole.absolute_rms});
      CHECK(streamed.worst->index == whole.worst->index);
      CHECK(streamed.worst->reference == whole.worst->reference);
      CHECK(streamed.worst->bits == whole.worst->bits);
    }
  }

  TEST_CASE("a stream refuses pieces of different size and a value that is not complete") {
    const Dims shape{4};
    const Bytes four(16);
    DifferenceStream stream(Dtype::float32, shape, {});
    CHECK_THROWS_AS(stream.update(four, std::span(four).first(8)), Error);
    CHECK_THROWS_AS(static_cast<void>(stream.finish()), Error);
    stream.update(four, four);
    CHECK_THROWS_AS(stream.update(four, four), Error);
  }

  TEST_CASE("64-bit integers keep distances that float64 cannot") {
    const std::vector<std::uint64_t> reference{0, 1, 0};
    const std::vector<std::uint64_t> candidate{~0ULL - 1, 0, ~0ULL};
    const auto result =
        difference(Dtype::uint64, Dims{3}, {}, bytes_of(reference), bytes_of(candidate));
    CHECK(result.ulp_max == ~0ULL);
    CHECK(result.worst.value().index == Dims{2});
    CHECK(result.worst->candidate == "18446744073709551615");
  }

  TEST_CASE("the caller's rounding and flush-denormal settings do not matter, and come back") {
    Maker maker(4);
    const Bytes reference = maker.extreme(Dtype::float32, 3000);
    const Bytes candidate = maker.nudged(reference, Dtype::float32, 2);
    const auto plain = difference(Dtype::float32, Dims{3000}, {}, reference, candidate);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | kFlushToZero | kDenormalsAreZero);
#endif
    const auto result = difference(Dtype::float32, Dims{3000}, {}, reference, candidate);
#if defined(__x86_64__)
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    CHECK((after & (kFlushToZero | kDenormalsAreZero)) == (kFlushToZero | kDenormalsAreZero));
#endif
    CHECK(std::fegetround() == FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    CHECK(result.absolute_rms == plain.absolute_rms);
    CHECK(result.absolute_max == plain.absolute_max);
    CHECK(result.subnormal.reference == plain.subnormal.reference);
  }

  TEST_CASE("types without a rule are compared by their bytes") {
    const Bytes reference{std::byte{1}, std::byte{200}, std::byte{7}};
    const Bytes candidate{std::byte{1}, std::byte{100}, std::byte{7}};
    const auto whole = difference(static_cast<Dtype>(44), Dims{3}, {}, reference, candidate);
    CHECK(whole.ulp_max == 100);
    CHECK(whole.worst.value().index == Dims{1});
    const auto packed = difference(static_cast<Dtype>(16), Dims{2, 3}, {}, reference, candidate);
    CHECK(packed.elements == 3);
    CHECK(packed.worst.value().index == Dims{1});
    CHECK(packed.worst->reference == "200");
  }

  TEST_CASE("quantised types are their integers") {
    const Bytes reference{std::byte{255}};
    const Bytes candidate{std::byte{1}};
    CHECK(difference(Dtype::qint8, Dims{1}, {}, reference, candidate).ulp_max == 2);
    CHECK(difference(Dtype::quint8, Dims{1}, {}, reference, candidate).ulp_max == 254);
  }

  TEST_CASE("sizes that do not fit are refused") {
    const Bytes eight(8);
    const Bytes twelve(12);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{2}, {}, eight, twelve), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{3}, {}, eight, eight), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{-2}, {}, eight, eight), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{2}, Dims{2}, eight, eight), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{2}, Dims{1, 1}, eight, eight), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{1, 2}, Dims{1, -1}, eight, eight), Error);
    constexpr std::int64_t kHuge = std::int64_t{1} << 62;
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{kHuge, kHuge}, {}, eight, eight), Error);
    CHECK_THROWS_AS(difference(Dtype::float32, Dims{kHuge}, {}, {}, {}), Error);
  }
}
