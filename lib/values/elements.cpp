#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "dump/value_shape.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope {
namespace {

[[nodiscard]] Error refusal(ErrorCode code, const Run& run, const StoredValue& value,
                            std::string_view what, std::string hint = {}) {
  return {code, fmt::format("'{}' in '{}' {}", value.path, run.info().path, what), std::move(hint)};
}

template <class Format>
[[nodiscard]] std::vector<std::byte> widened(std::span<const std::byte> narrow) {
  using Bits = typename Format::Bits;
  const std::size_t count = narrow.size() / sizeof(Bits);
  std::vector<std::byte> wide(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, narrow.data() + i * sizeof bits, sizeof bits);
    const auto number = static_cast<float>(Format::to_double(bits));
    std::memcpy(wide.data() + i * sizeof number, &number, sizeof number);
  }
  return wide;
}

[[nodiscard]] std::vector<std::byte> in_memory(Dtype dtype, std::vector<std::byte> bytes) {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::complex32:
      return widened<Float16>(bytes);
    case Dtype::bfloat16:
      return widened<BFloat16>(bytes);
    case Dtype::float8_e5m2:
      return widened<Float8E5M2>(bytes);
    case Dtype::float8_e4m3fn:
      return widened<Float8E4M3Fn>(bytes);
    case Dtype::float8_e5m2fnuz:
      return widened<Float8E5M2Fnuz>(bytes);
    case Dtype::float8_e4m3fnuz:
      return widened<Float8E4M3Fnuz>(bytes);
    default:
      return bytes;
  }
}

[[nodiscard]] bool are_truths(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte <= std::byte{1}; });
}

}  // namespace

namespace detail {

/// For `arrays.hpp`, which this does not include: its readers alone need xtensor.
[[noreturn]] void refuse_type(const StoredValue& value, Dtype asked);

void refuse_type(const StoredValue& value, Dtype asked) {
  const Dtype dtype = value.geometry.dtype;
  throw Error(ErrorCode::usage,
              fmt::format("'{}' is {}, not {}", value.path, name(dtype), name(asked)),
              fmt::format("read it as {}", name(dtype_in_memory(dtype).value_or(dtype))));
}

}  // namespace detail

std::optional<Dtype> dtype_in_memory(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::bool_:
    case Dtype::uint8:
    case Dtype::uint16:
    case Dtype::uint32:
    case Dtype::uint64:
    case Dtype::int8:
    case Dtype::int16:
    case Dtype::int32:
    case Dtype::int64:
    case Dtype::float32:
    case Dtype::float64:
    case Dtype::complex64:
    case Dtype::complex128:
      return dtype;
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return Dtype::float32;
    case Dtype::complex32:
      return Dtype::complex64;
    default:
      return std::nullopt;
  }
}

Elements read_elements(const Run& run, const StoredValue& value) {
  const auto dtype = dtype_in_memory(value.geometry.dtype);
  const auto shape = dump::value_shape(value.geometry);
  if (!dtype || !shape)
    throw refusal(
        ErrorCode::usage, run, value, "is not an array that can be read",
        "arrays are dense, not quantized, with at most 32 dimensions, and at most 256 MiB "
        "if dimensions are expanded");
  Elements elements{
      .dtype = *dtype, .shape = {shape->sizes.begin(), shape->sizes.end()}, .bytes = {}};
  if (shape->bytes == 0) return elements;
  const auto recorded =
      value.has_digest ? run.content_size(value.rank, value.digest) : std::nullopt;
  if (!recorded)
    throw refusal(ErrorCode::usage, run, value, "was recorded without its bytes",
                  "bytes are in dumps recorded with --level full");
  const std::uint64_t claimed = value.in_row_major_order ? shape->bytes : shape->packed_bytes;
  auto bytes = row_major_bytes(run, value);
  if (!bytes)
    throw refusal(ErrorCode::corrupt, run, value,
                  fmt::format("has {} bytes, where its shape needs {}", *recorded, claimed));
  if (*dtype == Dtype::bool_ && !are_truths(*bytes))
    throw refusal(ErrorCode::corrupt, run, value, "has a bool that is neither 0 nor 1");
  elements.bytes = in_memory(value.geometry.dtype, std::move(*bytes));
  return elements;
}

}  // namespace ulpscope
