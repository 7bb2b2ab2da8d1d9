#include "cli/values/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <string>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// Version 1.0 of the format: magic, header length, a Python dictionary padded to 64 bytes.
std::string header_of(std::string_view descr, std::span<const std::int64_t> shape) {
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  const std::string sizes =
      shape.size() == 1 ? fmt::format("{},", shape[0]) : fmt::format("{}", fmt::join(shape, ", "));
  std::string header =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const std::size_t used = kPrefix + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(length & 0xff);
  prefix += static_cast<char>(length >> 8);
  return prefix + header;
}

}  // namespace

NpyType npy_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return {"'|b1'"};
    case Dtype::uint8:
    case Dtype::quint8:
      return {"'|u1'"};
    case Dtype::int8:
    case Dtype::qint8:
      return {"'|i1'"};
    case Dtype::int16:
      return {"'<i2'"};
    case Dtype::int32:
    case Dtype::qint32:
      return {"'<i4'"};
    case Dtype::int64:
      return {"'<i8'"};
    case Dtype::uint16:
      return {"'<u2'"};
    case Dtype::uint32:
      return {"'<u4'"};
    case Dtype::uint64:
      return {"'<u8'"};
    case Dtype::float16:
      return {"'<f2'"};
    case Dtype::float32:
      return {"'<f4'"};
    case Dtype::float64:
      return {"'<f8'"};
    case Dtype::complex64:
      return {"'<c8'"};
    case Dtype::complex128:
      return {"'<c16'"};
    case Dtype::complex32:
      return {"[('real', '<f2'), ('imag', '<f2')]"};
    case Dtype::bfloat16:
      return {"'<u2'", true};
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return {"'|u1'", true};
    default:
      throw Error(ErrorCode::usage,
                  fmt::format("values of dtype {} cannot be written", name(dtype)));
  }
}

void write_npy(const std::filesystem::path& file, Dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  const std::string header = header_of(npy_type(dtype).descr, shape);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw Error(ErrorCode::io, fmt::format("'{}' could not be written", file.string()));
  }
}

}  // namespace ulpscope::cli
