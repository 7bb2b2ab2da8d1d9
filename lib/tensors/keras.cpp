#include "tensors/keras.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tensors/hdf5.hpp"
#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::string_view kConfiguration = "config.json";
constexpr std::string_view kMetadata = "metadata.json";
constexpr std::string_view kWeights = "model.weights.h5";

/// Reads a source to its end, where an archive's checksum is compared.
void check(const Source& source) {
  const auto reader = source.stream(0, source.size());
  std::vector<std::byte> piece(std::min<std::uint64_t>(source.size(), std::uint64_t{1} << 20));
  for (std::uint64_t left = source.size(); left > 0; left -= piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), left));
    reader->read(piece);
  }
}

}  // namespace

bool is_keras_archive(const ZipArchive& archive) {
  return archive.find(kConfiguration) != nullptr && archive.find(kWeights) != nullptr;
}

std::unique_ptr<TensorFile> open_keras_archive(std::shared_ptr<const ZipArchive> archive) {
  const ZipMember& weights = *archive->find(kWeights);
  if (!weights.stored)
    unsupported(archive->path(), fmt::format("'{}' in it is compressed", kWeights),
                "unpack it: it is an HDF5 file, which is read by itself");
  auto tensors = std::make_unique<StoredTensors>(archive->path(), "keras");
  const auto whole = member_of(archive, weights);
  tensors->limit(whole->size());
  check(*whole);
  add_datasets({archive->path(), weights.name}, whole, *tensors);
  for (const ZipMember& member : archive->members())
    if (!member.name.ends_with('/') && member.name != kConfiguration && member.name != kMetadata &&
        member.name != kWeights)
      tensors->add_unreadable(member.name, "is no dataset");
  return tensors;
}

}  // namespace ulpscope::tensors
