#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"
#include "ulpscope/run.hpp"

/// Files of tensors that other programs wrote: weights, arrays, checkpoints.
namespace ulpscope {

struct StoredTensor {
  std::string name;  ///< as the file has it: "layer1.conv1.weight", "dense/kernel:0"
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> shape;
  bool plain = false;      ///< a number, text or None beside the tensors, which few formats have
  std::string unreadable;  ///< why it has no numbers to compare, in words; empty if it has
};

/// The tensors of a file or directory. Contents are read as they are requested.
class TensorFile {
 public:
  TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;
  virtual ~TensorFile() = default;

  [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
  [[nodiscard]] virtual std::string_view format() const = 0;  ///< "npz", "safetensors"
  /// No two have the same name.
  [[nodiscard]] virtual std::span<const StoredTensor> tensors() const = 0;
  /// The bytes of a tensor that is not unreadable, in row-major order and this machine's byte
  /// order, with dimension d being the tensor's dimension `axes[d]`.
  /// @throws Error with ErrorCode::corrupt, now or while it is read.
  [[nodiscard]] virtual std::unique_ptr<ContentReader> open(
      std::size_t index, std::span<const std::size_t> axes) const = 0;
};

/// Opens a `.npy`, `.npz`, `.safetensors`, `.h5`, `.pt` or `.onnx` file, known by what is in it
/// rather than by its name (`.onnx` aside), or a directory of `.npy` files. Nothing in it is
/// trusted, and nothing is executed.
///
/// @throws Error: io, not_a_dump (none of these), version (a form that is not read), corrupt.
[[nodiscard]] std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path);

}  // namespace ulpscope
