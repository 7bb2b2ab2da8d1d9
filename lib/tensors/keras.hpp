#pragma once

#include <memory>

#include "tensors/zip_archive.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// Whether an archive is one that Keras 3 saves a model in: `.keras`.
[[nodiscard]] bool is_keras_archive(const ZipArchive& archive);

/// The datasets of the HDF5 file in it, which has the model's weights and the optimizer's. The
/// model's configuration is not compared; other assets of layers count as what cannot be.
/// @throws Error with ErrorCode::version if that file is compressed, which Keras does not do.
[[nodiscard]] std::unique_ptr<TensorFile> open_keras_archive(
    std::shared_ptr<const ZipArchive> archive);

}  // namespace ulpscope::tensors
