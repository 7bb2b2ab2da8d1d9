#pragma once

#include <filesystem>
#include <memory>

#include "tensors/open_file.hpp"
#include "tensors/zip_archive.hpp"
#include "ulpscope/tensor_file.hpp"

/// NumPy's arrays.
namespace ulpscope::tensors {

/// A single array, which goes by the name `array` whatever the file's is.
[[nodiscard]] std::unique_ptr<TensorFile> open_npy(std::shared_ptr<const OpenFile> file);

/// All `.npy` files in a directory and those in it, by their paths in it without the extension.
/// Links to directories are not followed.
[[nodiscard]] std::unique_ptr<TensorFile> open_npy_directory(const std::filesystem::path& path);

/// The arrays of a zip archive, compressed or not.
/// @throws Error with ErrorCode::not_a_dump if it has none.
[[nodiscard]] std::unique_ptr<TensorFile> open_npz(std::shared_ptr<const ZipArchive> archive);

}  // namespace ulpscope::tensors
