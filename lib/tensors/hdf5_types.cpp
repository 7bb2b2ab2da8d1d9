#include "tensors/hdf5_types.hpp"

#include <cstring>
#include <optional>
#include <string_view>

#include "dump/h5.hpp"

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

[[nodiscard]] Hdf5Elements none(const char* why) {
  Hdf5Elements result;
  result.unreadable = why;
  return result;
}

[[nodiscard]] std::endian order_of(hid_t type) {
  return H5Tget_order(type) == H5T_ORDER_BE ? std::endian::big : std::endian::little;
}

/// Whether its bits fill its bytes.
[[nodiscard]] bool is_whole(hid_t type) {
  return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

[[nodiscard]] std::optional<Dtype> integer(std::size_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? Dtype::int8 : Dtype::uint8;
    case 2:
      return is_signed ? Dtype::int16 : Dtype::uint16;
    case 4:
      return is_signed ? Dtype::int32 : Dtype::uint32;
    case 8:
      return is_signed ? Dtype::int64 : Dtype::uint64;
    default:
      return std::nullopt;
  }
}

/// Where the parts of a float are, from the lowest bit.
struct FloatFields {
  std::size_t sign = 0;
  std::size_t exponent = 0;
  std::size_t exponent_bits = 0;
  std::size_t mantissa = 0;
  std::size_t mantissa_bits = 0;
  std::size_t bias = 0;

  [[nodiscard]] bool operator==(const FloatFields&) const = default;
};

[[nodiscard]] std::optional<Dtype> floating_point(hid_t type) {
  FloatFields fields;
  if (H5Tget_fields(type, &fields.sign, &fields.exponent, &fields.exponent_bits, &fields.mantissa,
                    &fields.mantissa_bits) < 0)
    return std::nullopt;
  fields.bias = H5Tget_ebias(type);
  if (!is_whole(type) || H5Tget_norm(type) != H5T_NORM_IMPLIED) return std::nullopt;
  switch (H5Tget_size(type)) {
    case 2:
      if (fields == FloatFields{15, 10, 5, 0, 10, 15}) return Dtype::float16;
      if (fields == FloatFields{15, 7, 8, 0, 7, 127}) return Dtype::bfloat16;
      return std::nullopt;
    case 4:
      if (fields == FloatFields{31, 23, 8, 0, 23, 127}) return Dtype::float32;
      return std::nullopt;
    case 8:
      if (fields == FloatFields{63, 52, 11, 0, 52, 1023}) return Dtype::float64;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// h5py's: FALSE is 0 and TRUE is 1.
[[nodiscard]] bool is_boolean(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (const char* const name : {"FALSE", "TRUE"}) {
    std::int8_t value = -1;
    if (H5Tenum_valueof(type, name, &value) < 0 || value != (*name == 'T' ? 1 : 0)) return false;
  }
  return true;
}

[[nodiscard]] bool is_member(hid_t type, unsigned number, const char* name) {
  char* const found = H5Tget_member_name(type, number);
  const bool same = found != nullptr && std::strcmp(found, name) == 0;
  H5free_memory(found);
  return same;
}

/// Two floats of one type called r and i, or real and imag.
[[nodiscard]] Hdf5Elements complex_number(hid_t type) {
  Hdf5Elements result = none("holds records");
  result.record = true;
  if (H5Tget_nmembers(type) != 2 || !((is_member(type, 0, "r") && is_member(type, 1, "i")) ||
                                      (is_member(type, 0, "real") && is_member(type, 1, "imag"))))
    return result;
  const h5::Type real(H5Tget_member_type(type, 0));
  const h5::Type imaginary(H5Tget_member_type(type, 1));
  const std::size_t size = H5Tget_size(real.get());
  if (H5Tget_class(real.get()) != H5T_FLOAT || H5Tequal(real.get(), imaginary.get()) <= 0 ||
      H5Tget_member_offset(type, 0) != 0 || H5Tget_member_offset(type, 1) != size ||
      H5Tget_size(type) != 2 * size)
    return result;
  const auto part = floating_point(real.get());
  if (!part || *part == Dtype::bfloat16) return result;
  result.unreadable.clear();
  result.record = false;
  result.order = order_of(real.get());
  result.dtype = *part == Dtype::float16   ? Dtype::complex32
                 : *part == Dtype::float32 ? Dtype::complex64
                                           : Dtype::complex128;
  return result;
}

[[nodiscard]] Hdf5Elements array(hid_t type) {
  const h5::Type base(H5Tget_super(type));
  if (H5Tget_class(base.get()) == H5T_ARRAY) return none("holds arrays of arrays");
  Hdf5Elements result = elements_of(base.get());
  if (result.text) return none("holds arrays of text");
  if (result.record) return none("holds arrays of records");
  hsize_t sizes[H5S_MAX_RANK] = {};
  const int dimensions = H5Tget_array_dims2(type, sizes);
  for (int d = 0; d < dimensions; ++d) result.shape.push_back(static_cast<std::int64_t>(sizes[d]));
  return result;
}

}  // namespace

Hdf5Elements elements_of(hid_t type) {
  const auto number = [&](std::optional<Dtype> dtype, const char* otherwise) {
    Hdf5Elements result;
    result.order = order_of(type);
    if (dtype)
      result.dtype = *dtype;
    else
      result.unreadable = otherwise;
    return result;
  };
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return number(is_whole(type) ? integer(size, H5Tget_sign(type) == H5T_SGN_2) : std::nullopt,
                    "holds integers that are not 1, 2, 4 or 8 whole bytes");
    case H5T_FLOAT:
      return number(floating_point(type), "holds floats that are not IEEE's or bfloat16");
    case H5T_BITFIELD:
      return number(is_whole(type) ? integer(size, false) : std::nullopt,
                    "holds bits that are not 1, 2, 4 or 8 whole bytes");
    case H5T_ENUM: {
      if (is_boolean(type)) return number(Dtype::bool_, "");
      const h5::Type base(H5Tget_super(type));
      return elements_of(base.get());
    }
    case H5T_COMPOUND:
      return complex_number(type);
    case H5T_ARRAY:
      return array(type);
    case H5T_STRING: {
      Hdf5Elements result;
      result.text = true;
      return result;
    }
    case H5T_VLEN:
      return none("holds sequences of different lengths");
    case H5T_REFERENCE:
      return none("holds references");
    default:
      return none("has an HDF5 type that is not read");
  }
}

h5::Type type_of_field(hid_t type, std::span<const std::string> names) {
  if (names.empty()) return h5::Type(h5::checked("copy a type", H5Tcopy(type)));
  const char* const name = names.front().c_str();
  const int number = h5::checked("find a field", H5Tget_member_index(type, name));
  const h5::Type member(
      h5::checked("read a field's type", H5Tget_member_type(type, static_cast<unsigned>(number))));
  const h5::Type inner = type_of_field(member.get(), names.subspan(1));
  h5::Type record(h5::checked("make a record", H5Tcreate(H5T_COMPOUND, H5Tget_size(inner.get()))));
  h5::checked("make a record", H5Tinsert(record.get(), name, 0, inner.get()));
  return record;
}

}  // namespace ulpscope::tensors
