#pragma once

#include <memory>

#include "tensors/open_file.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// Whether a file begins as torch.save wrote it before PyTorch 1.6, and still does without an
/// archive (`_use_new_zipfile_serialization=False`).
[[nodiscard]] bool looks_like_legacy_torch(const OpenFile& file);

/// Its tensors, as those of an archive: see open_torch_archive().
[[nodiscard]] std::unique_ptr<TensorFile> open_legacy_torch(std::shared_ptr<const OpenFile> file);

}  // namespace ulpscope::tensors
