#include "core/number_text.hpp"

#include <bit>

#include "core/decimal.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope::core {
namespace {

template <class Format>
std::string small_float_text(std::uint64_t bits) {
  const double value = Format::to_double(static_cast<typename Format::Bits>(bits));
  return shortest(value, Precision{Format::kMantissaBits + 1, Format::kLowestExponent});
}

}  // namespace

std::size_t number_bits(Dtype dtype) noexcept {
  const std::size_t bits = element_size(dtype) * 8;
  if (bits == 0) return 8;
  return is_complex(dtype) ? bits / 2 : bits;
}

std::string number_text(Dtype dtype, std::uint64_t bits) {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::complex32:
      return small_float_text<Float16>(bits);
    case Dtype::bfloat16:
      return small_float_text<BFloat16>(bits);
    case Dtype::float8_e5m2:
      return small_float_text<Float8E5M2>(bits);
    case Dtype::float8_e4m3fn:
      return small_float_text<Float8E4M3Fn>(bits);
    case Dtype::float8_e5m2fnuz:
      return small_float_text<Float8E5M2Fnuz>(bits);
    case Dtype::float8_e4m3fnuz:
      return small_float_text<Float8E4M3Fnuz>(bits);
    case Dtype::float32:
    case Dtype::complex64:
      return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Dtype::float64:
    case Dtype::complex128:
      return shortest(std::bit_cast<double>(bits));
    case Dtype::int8:
    case Dtype::qint8:
      return std::to_string(static_cast<std::int8_t>(bits));
    case Dtype::int16:
      return std::to_string(static_cast<std::int16_t>(bits));
    case Dtype::int32:
    case Dtype::qint32:
      return std::to_string(static_cast<std::int32_t>(bits));
    case Dtype::int64:
      return std::to_string(static_cast<std::int64_t>(bits));
    default:
      return std::to_string(bits);
  }
}

std::string complex_text(Dtype dtype, std::uint64_t real, std::uint64_t imaginary) {
  return join_complex(number_text(dtype, real), number_text(dtype, imaginary));
}

}  // namespace ulpscope::core
