#pragma once

#include <memory>

#include "tensors/hdf5_list.hpp"
#include "tensors/hdf5_process.hpp"
#include "tensors/open_file.hpp"
#include "tensors/stored_tensors.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// Whether a file has HDF5's signature where it may be: at its beginning, at 512 bytes or a power
/// of two times that.
[[nodiscard]] bool looks_like_hdf5(const OpenFile& file);

/// Adds the datasets of an HDF5 file, by their paths in it, to the tensors of a file. `whole` has
/// its bytes.
void add_datasets(const Hdf5Place& place, const std::shared_ptr<const Source>& whole,
                  StoredTensors& tensors);

/// The same from a process that has one open.
void add_datasets(const std::shared_ptr<Hdf5Process>& process,
                  const std::shared_ptr<const Source>& whole, StoredTensors& tensors);

/// The datasets of an HDF5 file, by their paths in it. Attributes are not compared. Contiguous ones
/// are read from the file, all others by a process with limits: see Hdf5Process.
[[nodiscard]] std::unique_ptr<TensorFile> open_hdf5(std::shared_ptr<const OpenFile> file);

}  // namespace ulpscope::tensors
