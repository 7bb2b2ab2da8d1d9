#include "cli/values/npy.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <xtensor/xnpy.hpp>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// xtensor quotes the dtype that it is given; a dtype of several fields is a list.
constexpr std::string_view kFields = "[('real', '<f2'), ('imag', '<f2')]";

/// What stands in front of the elements, as xtensor writes it. Its functions that write whole
/// arrays are not used: they take the dtype from a C++ type and so have no float16, and the one
/// that writes to a file does not say so when the disk is full.
std::string header_of(std::string_view descr, std::span<const std::int64_t> shape) {
  std::ostringstream header;
  if (descr != kFields) {
    xt::detail::write_header(header, std::string(descr), false, shape);
    return header.str();
  }
  const std::string stand_in(descr.size() - 2, '?');
  xt::detail::write_header(header, stand_in, false, shape);
  std::string text = header.str();
  return text.replace(text.find(stand_in) - 1, descr.size(), descr);
}

}  // namespace

NpyType npy_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return {"|b1"};
    case Dtype::uint8:
    case Dtype::quint8:
      return {"|u1"};
    case Dtype::int8:
    case Dtype::qint8:
      return {"|i1"};
    case Dtype::int16:
      return {"<i2"};
    case Dtype::int32:
    case Dtype::qint32:
      return {"<i4"};
    case Dtype::int64:
      return {"<i8"};
    case Dtype::uint16:
      return {"<u2"};
    case Dtype::uint32:
      return {"<u4"};
    case Dtype::uint64:
      return {"<u8"};
    case Dtype::float16:
      return {"<f2"};
    case Dtype::float32:
      return {"<f4"};
    case Dtype::float64:
      return {"<f8"};
    case Dtype::complex64:
      return {"<c8"};
    case Dtype::complex128:
      return {"<c16"};
    case Dtype::complex32:
      return {kFields};
    case Dtype::bfloat16:
      return {"<u2", true};
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return {"|u1", true};
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
