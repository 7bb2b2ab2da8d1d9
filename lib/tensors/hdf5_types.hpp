#pragma once

#include <hdf5.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/h5.hpp"
#include "ulpscope/dtype.hpp"

namespace ulpscope::tensors {

/// The elements of a dataset as ours.
struct Hdf5Elements {
  Dtype dtype = Dtype::undefined;
  std::endian order = std::endian::little;
  std::vector<std::int64_t> shape;  ///< of each element, where it is an array
  std::string unreadable;           ///< why they have no dtype: "holds references"
  bool text = false;                ///< they are strings
  bool record = false;              ///< they have fields, and are no complex numbers
};

/// Knows IEEE numbers, integers of whole bytes, float16 and bfloat16, complex numbers and bool as
/// h5py and PyTables write them, enumerations, and arrays of these; and strings.
[[nodiscard]] Hdf5Elements elements_of(hid_t type);

/// The type in which HDF5 gives a field of records alone: records of this field, of which each name
/// but the first is inside of the one before. Without names the type itself.
/// @throws Error if there is no such field.
[[nodiscard]] dump::h5::Type type_of_field(hid_t type, std::span<const std::string> names);

}  // namespace ulpscope::tensors
