#pragma once

#include <memory>

#include "dump/h5.hpp"
#include "tensors/source.hpp"

namespace ulpscope::tensors {

/// Opens an HDF5 file wherever its bytes are, by a driver that reads them from a source.
/// @throws Error if HDF5 does.
[[nodiscard]] dump::h5::File open_hdf5_source(std::shared_ptr<const Source> source);

}  // namespace ulpscope::tensors
