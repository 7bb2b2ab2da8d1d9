#include "ulpscope/dtype.hpp"

#include <array>
#include <charconv>

namespace ulpscope {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kDtypes{
    DtypeRow{Dtype::uint8, "uint8", 1},
    DtypeRow{Dtype::int8, "int8", 1},
    DtypeRow{Dtype::int16, "int16", 2},
    DtypeRow{Dtype::int32, "int32", 4},
    DtypeRow{Dtype::int64, "int64", 8},
    DtypeRow{Dtype::float16, "float16", 2},
    DtypeRow{Dtype::float32, "float32", 4},
    DtypeRow{Dtype::float64, "float64", 8},
    DtypeRow{Dtype::complex32, "complex32", 4},
    DtypeRow{Dtype::complex64, "complex64", 8},
    DtypeRow{Dtype::complex128, "complex128", 16},
    DtypeRow{Dtype::bool_, "bool", 1},
    DtypeRow{Dtype::qint8, "qint8", 1},
    DtypeRow{Dtype::quint8, "quint8", 1},
    DtypeRow{Dtype::qint32, "qint32", 4},
    DtypeRow{Dtype::bfloat16, "bfloat16", 2},
    DtypeRow{Dtype::float8_e5m2, "float8_e5m2", 1},
    DtypeRow{Dtype::float8_e4m3fn, "float8_e4m3fn", 1},
    DtypeRow{Dtype::float8_e5m2fnuz, "float8_e5m2fnuz", 1},
    DtypeRow{Dtype::float8_e4m3fnuz, "float8_e4m3fnuz", 1},
    DtypeRow{Dtype::uint16, "uint16", 2},
    DtypeRow{Dtype::uint32, "uint32", 4},
    DtypeRow{Dtype::uint64, "uint64", 8},
    DtypeRow{Dtype::undefined, "undefined", 0},
};

constexpr std::string_view kNumberedPrefix = "dtype";

/// "dtype0" to "dtype255", so that name() can return views of static text.
struct NumberedNames {
  std::array<std::array<char, 8>, 256> text{};
  std::array<std::uint8_t, 256> length{};

  constexpr NumberedNames() {
    for (std::size_t number = 0; number < text.size(); ++number) {
      std::size_t end = 0;
      for (const char letter : kNumberedPrefix) text[number][end++] = letter;
      for (std::size_t unit = number < 10 ? 1 : number < 100 ? 10 : 100; unit > 0; unit /= 10)
        text[number][end++] = static_cast<char>('0' + number / unit % 10);
      length[number] = static_cast<std::uint8_t>(end);
    }
  }
};
constexpr NumberedNames kNumberedNames;

constexpr const DtypeRow* find(Dtype dtype) noexcept {
  for (const DtypeRow& row : kDtypes)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

}  // namespace

std::size_t element_size(Dtype dtype) noexcept {
  const DtypeRow* row = find(dtype);
  return row == nullptr ? 0 : row->size;
}

std::string_view name(Dtype dtype) noexcept {
  if (const DtypeRow* row = find(dtype)) return row->name;
  const auto number = static_cast<std::size_t>(dtype);
  return {kNumberedNames.text[number].data(), kNumberedNames.length[number]};
}

std::optional<Dtype> dtype_from_name(std::string_view name) noexcept {
  for (const DtypeRow& row : kDtypes)
    if (row.name == name) return row.dtype;
  if (!name.starts_with(kNumberedPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kNumberedPrefix.size());
  std::uint8_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto dtype = static_cast<Dtype>(number);
  // Only what name() spells: no leading zeros, no number that has a name.
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (ulpscope::name(dtype) != name) return std::nullopt;
  return dtype;
}

bool is_floating_point(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::float32:
    case Dtype::float64:
    case Dtype::bfloat16:
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return true;
    default:
      return false;
  }
}

bool is_complex(Dtype dtype) noexcept {
  return dtype == Dtype::complex32 || dtype == Dtype::complex64 || dtype == Dtype::complex128;
}

}  // namespace ulpscope
