#pragma once

#include <memory>

#include "tensors/zip_archive.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// Whether an archive is one of torch.save or torch.jit.save.
[[nodiscard]] bool is_torch_archive(const ZipArchive& archive);

/// The tensors in it, by the keys, indices and attributes that lead to them: "model.fc.weight".
/// Numbers, texts and None count as tensors, so that nothing is left out; the code of TorchScript
/// is not compared, nor what state_dict() notes of versions. No pickle is executed.
/// @throws Error with ErrorCode::version of a pickle that does more than describe tensors.
[[nodiscard]] std::unique_ptr<TensorFile> open_torch_archive(
    std::shared_ptr<const ZipArchive> archive);

}  // namespace ulpscope::tensors
