#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tensors/pickle.hpp"
#include "tensors/source.hpp"
#include "tensors/stored_tensors.hpp"

/// What torch.save and torch.jit.save pickle, in whatever form of file.
namespace ulpscope::tensors {

inline constexpr std::uint64_t kLargestPickle = std::uint64_t{64} << 20;

/// The pickle that some bytes begin with, which only names what builds tensors. It is not executed.
/// @throws Error with ErrorCode::version of any other one, and of one larger than kLargestPickle.
[[nodiscard]] PickledValues read_torch_pickle(std::string_view bytes,
                                              const std::filesystem::path& file);

/// What a persistent value says of the storage that it stands for.
struct TorchStorage {
  std::string key;
  Dtype dtype = Dtype::undefined;
  std::int64_t first = 0;  ///< element of it where a view of it begins: older files have such
};
/// Empty if it says nothing of one.
[[nodiscard]] std::optional<TorchStorage> torch_storage(const PickledValues& values,
                                                        const PickledValue& persistent);

/// Where the bytes of storages are.
struct TorchStorages {
  /// By key; null if the file has none of it.
  std::function<std::shared_ptr<const Source>(const std::string& key)> find;
  std::endian order = std::endian::little;
};

/// Adds the tensors of a pickle to those of a file, by the keys, indices and attributes that lead
/// to them from `path`. Numbers, texts and None count as tensors.
/// @throws Error with ErrorCode::corrupt.
void add_pickled_tensors(const PickledValues& values, const std::string& path,
                         const TorchStorages& storages, StoredTensors& tensors);

}  // namespace ulpscope::tensors
