#pragma once

#include <hdf5.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"

namespace ulpscope::tensors {

/// The elements of a dataset as ours.
struct Hdf5Elements {
  Dtype dtype = Dtype::undefined;
  std::endian order = std::endian::little;
  std::vector<std::int64_t> shape;  ///< of each element, where it is an array
  std::string unreadable;           ///< why they have no dtype: "holds text"
};

/// Knows IEEE numbers, integers of whole bytes, float16 and bfloat16, complex numbers and bool as
/// h5py and PyTables write them, enumerations, and arrays of these.
[[nodiscard]] Hdf5Elements elements_of(hid_t type);

}  // namespace ulpscope::tensors
