#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ulpscope/dtype.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope::comparison {

/// One number of a tensor; a complex element has two.
struct Number {
  double value = 0;
  /// Position on the dtype's lattice: neighbors are 1 apart and both zeros are 0. For integers the
  /// number itself.
  std::int64_t place = 0;
};

/// Steps between two places, saturated at the maximum.
[[nodiscard]] constexpr std::uint64_t apart(const Number& a, const Number& b) noexcept {
  return a.place > b.place
             ? static_cast<std::uint64_t>(a.place) - static_cast<std::uint64_t>(b.place)
             : static_cast<std::uint64_t>(b.place) - static_cast<std::uint64_t>(a.place);
}

/// Numbers in packed bytes.
template <class Integer>
struct IntegerNumbers {
  using Bits = Integer;
  [[nodiscard]] static Number number(Bits bits) noexcept {
    return {static_cast<double>(bits), static_cast<std::int64_t>(bits)};
  }
};

template <class Format>
struct FloatNumbers {
  using Bits = typename Format::Bits;
  [[nodiscard]] static Number number(Bits bits) noexcept {
    const auto size = static_cast<std::int64_t>(bits & static_cast<Bits>(~Format::kSign));
    return {Format::to_double(bits), (bits & Format::kSign) != 0 ? -size : size};
  }
};

/// The number at `index` of packed bytes.
template <class Numbers>
[[nodiscard]] typename Numbers::Bits bits_at(std::span<const std::byte> bytes, std::size_t index) {
  typename Numbers::Bits bits;
  std::memcpy(&bits, bytes.data() + index * sizeof(bits), sizeof(bits));
  return bits;
}

/// Calls `use` with an IntegerNumbers or FloatNumbers, as a dtype has them; empty for a dtype that
/// has no numbers (quantized, unknown).
template <class Use>
auto with_numbers(Dtype dtype, Use&& use)
    -> std::optional<decltype(use(IntegerNumbers<std::uint8_t>{}))> {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::complex32:
      return use(FloatNumbers<Float16>{});
    case Dtype::bfloat16:
      return use(FloatNumbers<BFloat16>{});
    case Dtype::float32:
    case Dtype::complex64:
      return use(FloatNumbers<Float32>{});
    case Dtype::float64:
    case Dtype::complex128:
      return use(FloatNumbers<Float64>{});
    case Dtype::float8_e5m2:
      return use(FloatNumbers<Float8E5M2>{});
    case Dtype::float8_e4m3fn:
      return use(FloatNumbers<Float8E4M3Fn>{});
    case Dtype::float8_e5m2fnuz:
      return use(FloatNumbers<Float8E5M2Fnuz>{});
    case Dtype::float8_e4m3fnuz:
      return use(FloatNumbers<Float8E4M3Fnuz>{});
    case Dtype::uint8:
    case Dtype::bool_:
      return use(IntegerNumbers<std::uint8_t>{});
    case Dtype::int8:
      return use(IntegerNumbers<std::int8_t>{});
    case Dtype::int16:
      return use(IntegerNumbers<std::int16_t>{});
    case Dtype::int32:
      return use(IntegerNumbers<std::int32_t>{});
    case Dtype::int64:
      return use(IntegerNumbers<std::int64_t>{});
    case Dtype::uint16:
      return use(IntegerNumbers<std::uint16_t>{});
    case Dtype::uint32:
      return use(IntegerNumbers<std::uint32_t>{});
    case Dtype::uint64:
      return use(IntegerNumbers<std::uint64_t>{});
    case Dtype::qint8:
    case Dtype::quint8:
    case Dtype::qint32:
    case Dtype::undefined:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Reads packed elements; empty for a dtype that has no numbers.
[[nodiscard]] std::optional<std::vector<Number>> decode(Dtype dtype,
                                                        std::span<const std::byte> bytes);

}  // namespace ulpscope::comparison
