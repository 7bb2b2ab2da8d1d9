#pragma once

#include <memory>

#include "tensors/open_file.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// ONNX has no signature: its files go by their extension.
[[nodiscard]] bool looks_like_onnx(const OpenFile& file);

/// The initializers of an ONNX model's graph. Nodes, their constants and the graphs inside of them
/// are not compared. External data is read if it is in the model's directory.
[[nodiscard]] std::unique_ptr<TensorFile> open_onnx(std::shared_ptr<const OpenFile> file);

}  // namespace ulpscope::tensors
