#pragma once

#include <memory>

#include "tensors/open_file.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// Whether a file begins as a `.safetensors` file does: the length of a header, then the header.
[[nodiscard]] bool looks_like_safetensors(const OpenFile& file);

/// A `.safetensors` file. Its `__metadata__` is not compared.
/// @throws Error with ErrorCode::corrupt if tensors overlap, leave bytes between them, or do not
/// have the bytes of their shape.
[[nodiscard]] std::unique_ptr<TensorFile> open_safetensors(std::shared_ptr<const OpenFile> file);

}  // namespace ulpscope::tensors
