#include "compare/elements.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace ulpscope::comparison {
namespace {

/// A binary floating-point format of at most 64 bits with one sign bit.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  int bias;
  enum class Specials : std::uint8_t {
    ieee,           ///< infinities and NaNs at the largest exponent
    one_nan,        ///< NaN only where all bits but the sign are set, no infinity
    negative_zero,  ///< NaN only where -0 would be, no infinity
  } specials = Specials::ieee;
};

template <class Word>
[[nodiscard]] Word load(const std::byte* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

[[nodiscard]] std::uint64_t load_bits(const std::byte* bytes, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, size);  // dumps and the machines that read them are little-endian
  return bits;
}

[[nodiscard]] double float_value(std::uint64_t magnitude, bool negative,
                                 const FloatFormat& format) {
  const std::uint64_t largest = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t exponent = magnitude >> format.fraction_bits;
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << format.fraction_bits) - 1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double sign = negative ? -1.0 : 1.0;
  switch (format.specials) {
    case FloatFormat::Specials::ieee:
      if (exponent == largest) return fraction == 0 ? sign * kInfinity : kNan;
      break;
    case FloatFormat::Specials::one_nan:
      if (magnitude == (std::uint64_t{1} << (format.exponent_bits + format.fraction_bits)) - 1)
        return kNan;
      break;
    case FloatFormat::Specials::negative_zero:
      if (negative && magnitude == 0) return kNan;
      break;
  }
  const bool subnormal = exponent == 0;
  const auto significand = static_cast<double>(
      subnormal ? fraction : fraction | std::uint64_t{1} << format.fraction_bits);
  const int power =
      (subnormal ? 1 : static_cast<int>(exponent)) - format.bias - format.fraction_bits;
  return sign * std::ldexp(significand, power);
}

[[nodiscard]] Number float_number(std::uint64_t bits, const FloatFormat& format) {
  const int width = format.exponent_bits + format.fraction_bits;
  const std::uint64_t magnitude = bits & ((std::uint64_t{1} << width) - 1);
  const bool negative = bits >> width & 1;
  const auto place = static_cast<std::int64_t>(magnitude);
  return {float_value(magnitude, negative, format), negative ? -place : place};
}

[[nodiscard]] std::vector<Number> floats(std::span<const std::byte> bytes, std::size_t size,
                                         const FloatFormat& format) {
  std::vector<Number> numbers;
  numbers.reserve(bytes.size() / size);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size)
    numbers.push_back(float_number(load_bits(bytes.data() + at, size), format));
  return numbers;
}

template <class Integer>
[[nodiscard]] std::vector<Number> integers(std::span<const std::byte> bytes) {
  std::vector<Number> numbers;
  numbers.reserve(bytes.size() / sizeof(Integer));
  for (std::size_t at = 0; at + sizeof(Integer) <= bytes.size(); at += sizeof(Integer)) {
    const auto value = load<Integer>(bytes.data() + at);
    numbers.push_back({static_cast<double>(value), static_cast<std::int64_t>(value)});
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<Number>> decode(Dtype dtype, std::span<const std::byte> bytes) {
  using Specials = FloatFormat::Specials;
  switch (dtype) {
    case Dtype::float16:
    case Dtype::complex32:
      return floats(bytes, 2, {5, 10, 15});
    case Dtype::bfloat16:
      return floats(bytes, 2, {8, 7, 127});
    case Dtype::float32:
    case Dtype::complex64:
      return floats(bytes, 4, {8, 23, 127});
    case Dtype::float64:
    case Dtype::complex128:
      return floats(bytes, 8, {11, 52, 1023});
    case Dtype::float8_e5m2:
      return floats(bytes, 1, {5, 2, 15});
    case Dtype::float8_e4m3fn:
      return floats(bytes, 1, {4, 3, 7, Specials::one_nan});
    case Dtype::float8_e5m2fnuz:
      return floats(bytes, 1, {5, 2, 16, Specials::negative_zero});
    case Dtype::float8_e4m3fnuz:
      return floats(bytes, 1, {4, 3, 8, Specials::negative_zero});
    case Dtype::uint8:
    case Dtype::bool_:
      return integers<std::uint8_t>(bytes);
    case Dtype::int8:
      return integers<std::int8_t>(bytes);
    case Dtype::int16:
      return integers<std::int16_t>(bytes);
    case Dtype::int32:
      return integers<std::int32_t>(bytes);
    case Dtype::int64:
      return integers<std::int64_t>(bytes);
    case Dtype::uint16:
      return integers<std::uint16_t>(bytes);
    case Dtype::uint32:
      return integers<std::uint32_t>(bytes);
    case Dtype::uint64:
      return integers<std::uint64_t>(bytes);
    case Dtype::qint8:
    case Dtype::quint8:
    case Dtype::qint32:
    case Dtype::undefined:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison
