#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpscope {

/// Element types, numbered as `c10::ScalarType` (c10/core/ScalarType.h, append-only upstream), so
/// that recording needs no translation table. Numbers without a name here (packed sub-byte and
/// quantized types) are legal in a dump and compared by their bytes.
enum class Dtype : std::uint8_t {
  uint8 = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  int64 = 4,
  float16 = 5,
  float32 = 6,
  float64 = 7,
  complex32 = 8,
  complex64 = 9,
  complex128 = 10,
  bool_ = 11,
  qint8 = 12,
  quint8 = 13,
  qint32 = 14,
  bfloat16 = 15,
  float8_e5m2 = 23,
  float8_e4m3fn = 24,
  float8_e5m2fnuz = 25,
  float8_e4m3fnuz = 26,
  uint16 = 27,
  uint32 = 28,
  uint64 = 29,
  undefined = 255,
};

/// Bytes of one element; 0 if the type has no whole-byte element or is unknown.
[[nodiscard]] std::size_t element_size(Dtype dtype) noexcept;

/// PyTorch's spelling ("float32", "bool", "float8_e4m3fn"); "dtype17" for a number without a name.
[[nodiscard]] std::string_view name(Dtype dtype) noexcept;

/// The inverse of name(); empty for an unknown spelling.
[[nodiscard]] std::optional<Dtype> dtype_from_name(std::string_view name) noexcept;

[[nodiscard]] bool is_floating_point(Dtype dtype) noexcept;
[[nodiscard]] bool is_complex(Dtype dtype) noexcept;

}  // namespace ulpscope
