#pragma once

#include <filesystem>
#include <memory>

#include "tensors/open_file.hpp"
#include "ulpscope/tensor_file.hpp"

/// NumPy's arrays.
namespace ulpscope::tensors {

/// A single array, which goes by the name `array` whatever the file's is.
[[nodiscard]] std::unique_ptr<TensorFile> open_npy(std::shared_ptr<const OpenFile> file);

/// All `.npy` files in a directory and those in it, by their paths in it without the extension.
/// Links to directories are not followed.
[[nodiscard]] std::unique_ptr<TensorFile> open_npy_directory(const std::filesystem::path& path);

/// The arrays of a zip archive, compressed or not.
[[nodiscard]] std::unique_ptr<TensorFile> open_npz(const std::filesystem::path& path);

}  // namespace ulpscope::tensors
