#include "dump/h5_value_types.hpp"

#include <cstddef>
#include <cstdint>

namespace ulpscope::dump::h5 {
namespace {

Type copy(hid_t type) { return Type(checked("copy a type", H5Tcopy(type))); }

/// A binary float of 16 bits: sign, exponent, mantissa from the top.
Type float_of_16_bits(std::size_t exponent_bits, std::size_t bias) {
  Type type = copy(H5T_IEEE_F32LE);
  const std::size_t mantissa_bits = 15 - exponent_bits;
  checked("describe a float",
          H5Tset_fields(type.get(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits));
  checked("describe a float", H5Tset_size(type.get(), 2));
  checked("describe a float", H5Tset_ebias(type.get(), bias));
  return type;
}

Type float16() { return float_of_16_bits(5, 15); }

/// As h5py writes complex numbers, which are those whose parts are called "r" and "i".
Type complex_of(const Type& part, const char* real = "r", const char* imaginary = "i") {
  const std::size_t size = H5Tget_size(part.get());
  Type type(checked("create a complex type", H5Tcreate(H5T_COMPOUND, 2 * size)));
  checked("describe a complex type", H5Tinsert(type.get(), real, 0, part.get()));
  checked("describe a complex type", H5Tinsert(type.get(), imaginary, size, part.get()));
  return type;
}

/// As h5py writes bool.
Type boolean() {
  Type type(checked("create an enumeration", H5Tenum_create(H5T_STD_I8LE)));
  const char* const names[] = {"FALSE", "TRUE"};
  for (std::int8_t value = 0; value < 2; ++value) {
    checked("describe an enumeration", H5Tenum_insert(type.get(), names[value], &value));
  }
  return type;
}

Type make(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return float16();
    case Dtype::bfloat16:
      return float_of_16_bits(8, 127);
    case Dtype::float32:
      return copy(H5T_IEEE_F32LE);
    case Dtype::float64:
      return copy(H5T_IEEE_F64LE);
    case Dtype::complex32:
      return complex_of(float16(), "real", "imag");  // NumPy has no complex number as small
    case Dtype::complex64:
      return complex_of(copy(H5T_IEEE_F32LE));
    case Dtype::complex128:
      return complex_of(copy(H5T_IEEE_F64LE));
    case Dtype::bool_:
      return boolean();
    case Dtype::int8:
    case Dtype::qint8:
      return copy(H5T_STD_I8LE);
    case Dtype::int16:
      return copy(H5T_STD_I16LE);
    case Dtype::int32:
    case Dtype::qint32:
      return copy(H5T_STD_I32LE);
    case Dtype::int64:
      return copy(H5T_STD_I64LE);
    case Dtype::uint16:
      return copy(H5T_STD_U16LE);
    case Dtype::uint32:
      return copy(H5T_STD_U32LE);
    case Dtype::uint64:
      return copy(H5T_STD_U64LE);
    case Dtype::uint8:
    case Dtype::quint8:
    case Dtype::float8_e5m2:  // HDF5 1.10 takes all ones of an exponent for infinity and NaN
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e4m3fnuz:
      return copy(H5T_STD_U8LE);
    default:
      return {};
  }
}

}  // namespace

hid_t ValueTypes::find(Dtype dtype) {
  const auto [item, added] = types_.try_emplace(dtype);
  if (added) item->second = make(dtype);
  return item->second.get();
}

}  // namespace ulpscope::dump::h5
