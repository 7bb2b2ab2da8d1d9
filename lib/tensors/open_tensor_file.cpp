#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tensors/hdf5.hpp"
#include "tensors/keras.hpp"
#include "tensors/npy.hpp"
#include "tensors/onnx.hpp"
#include "tensors/open_file.hpp"
#include "tensors/safetensors.hpp"
#include "tensors/torch_archive.hpp"
#include "tensors/torch_legacy.hpp"
#include "tensors/zip_archive.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

/// The first bytes of a file, fewer if it has fewer.
[[nodiscard]] std::string start_of(const tensors::OpenFile& file) {
  constexpr std::uint64_t kMost = 16;
  return file.text_at(0, std::min(kMost, file.size()));
}

[[nodiscard]] std::unique_ptr<TensorFile> open_archive(
    std::shared_ptr<const tensors::ZipArchive> archive) {
  if (tensors::is_torch_archive(*archive)) return tensors::open_torch_archive(std::move(archive));
  if (tensors::is_keras_archive(*archive)) return tensors::open_keras_archive(std::move(archive));
  return tensors::open_npz(std::move(archive));
}

}  // namespace

std::unique_ptr<TensorFile> open_tensor_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return tensors::open_npy_directory(path);
  const auto file = std::make_shared<tensors::OpenFile>(path);
  const std::string start = start_of(*file);
  if (start.starts_with("\x93NUMPY")) return tensors::open_npy(file);
  if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06"))
    return open_archive(std::make_shared<tensors::ZipArchive>(path));
  if (tensors::looks_like_legacy_torch(*file)) return tensors::open_legacy_torch(file);
  if (tensors::looks_like_hdf5(*file)) return tensors::open_hdf5(file);
  if (tensors::looks_like_onnx(*file)) return tensors::open_onnx(file);
  if (tensors::looks_like_safetensors(*file)) return tensors::open_safetensors(file);
  throw Error(ErrorCode::not_a_dump,
              fmt::format("'{}' is neither a dump nor a file of tensors", path.string()),
              "a dump is the directory that `ulpscope record -o` wrote; files of tensors are "
              ".npy, .npz, .safetensors, .h5, .keras, .pt and .onnx");
}

}  // namespace ulpscope
