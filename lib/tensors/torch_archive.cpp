#include "tensors/torch_archive.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"
#include "tensors/torch_pickle.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::string_view kPickle = "data.pkl";
constexpr std::string_view kConstants = "constants.pkl";

[[nodiscard]] std::string content(const std::shared_ptr<const ZipArchive>& archive,
                                  const ZipMember& member) {
  if (member.bytes > kLargestPickle)
    unsupported(archive->path(), fmt::format("'{}' in it is larger than 64 MB", member.name));
  const HeldBytes held = member_of(archive, member)->hold(0, member.bytes);
  return {reinterpret_cast<const char*>(held.bytes.data()), held.bytes.size()};
}

/// The members of a folder, by their names in it.
[[nodiscard]] TorchStorages storages_in(const std::shared_ptr<const ZipArchive>& archive,
                                        const std::string& folder, std::endian order) {
  std::map<std::string, std::shared_ptr<const Source>, std::less<>> members;
  for (const ZipMember& member : archive->members())
    if (member.name.starts_with(folder))
      members.emplace(member.name.substr(folder.size()), member_of(archive, member));
  const auto find = [members = std::move(members)](const std::string& key) {
    const auto found = members.find(key);
    return found == members.end() ? nullptr : found->second;
  };
  return {find, order};
}

/// The folder of the pickle, with its '/'.
[[nodiscard]] std::optional<std::string> folder_of(const ZipArchive& archive) {
  for (const ZipMember& member : archive.members()) {
    const std::string_view name = member.name;
    if (!name.ends_with(kPickle)) continue;
    const std::string_view folder = name.substr(0, name.size() - kPickle.size());
    if (folder.empty() || folder.find('/') == folder.size() - 1) return std::string(folder);
  }
  return std::nullopt;
}

}  // namespace

bool is_torch_archive(const ZipArchive& archive) { return folder_of(archive).has_value(); }

std::unique_ptr<TensorFile> open_torch_archive(std::shared_ptr<const ZipArchive> archive) {
  const std::string folder = folder_of(*archive).value();
  const ZipMember* const constants = archive->find(folder + std::string(kConstants));
  const ZipMember* const byte_order = archive->find(folder + "byteorder");
  const bool is_big = byte_order != nullptr && content(archive, *byte_order) == "big";
  auto tensors =
      std::make_unique<StoredTensors>(archive->path(), constants ? "torchscript" : "pytorch");
  tensors->limit(std::filesystem::file_size(archive->path()));
  const auto add = [&](const ZipMember& pickle, const std::string& path) {
    const std::string_view name = pickle.name;
    const auto storages = storages_in(archive, fmt::format("{}/", name.substr(0, name.size() - 4)),
                                      is_big ? std::endian::big : std::endian::little);
    add_pickled_tensors(read_torch_pickle(content(archive, pickle), archive->path()), path,
                        storages, *tensors);
  };
  add(*archive->find(folder + std::string(kPickle)), "");
  if (constants != nullptr) add(*constants, "constants");
  return tensors;
}

}  // namespace ulpscope::tensors
