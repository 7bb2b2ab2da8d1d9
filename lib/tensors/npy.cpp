#include "tensors/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tensors/npy_header.hpp"
#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".npy";

/// Adds the array that a source holds.
void add_array(StoredTensors& tensors, std::string name, std::shared_ptr<const Source> source,
               const std::string& where) {
  const auto reader = source->stream(0, source->size());
  NpyHeader header = read_npy_header(*reader, where);
  if (!header.tensor.unreadable.empty())
    return tensors.add_unreadable(std::move(name), std::move(header.tensor.unreadable));
  header.tensor.name = std::move(name);
  Placement placement{
      .source = std::move(source), .offset = header.bytes, .strides = {}, .order = header.order};
  if (byte_count(header.tensor.shape, element_size(header.tensor.dtype)))
    placement.strides =
        header.column_major ? column_major(header.tensor.shape) : row_major(header.tensor.shape);
  tensors.add(std::move(header.tensor), std::move(placement));
}

[[nodiscard]] std::vector<fs::path> arrays_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == kExtension) files.push_back(at->path());
  if (error) {
    errno = error.value();
    not_readable(directory);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::unique_ptr<TensorFile> open_npy(std::shared_ptr<const OpenFile> file) {
  auto tensors = std::make_unique<StoredTensors>(file->path(), "npy");
  const std::string where = file->path().string();
  const std::uint64_t size = file->size();
  add_array(*tensors, "array", part_of(std::move(file), 0, size), where);
  return tensors;
}

std::unique_ptr<TensorFile> open_npy_directory(const fs::path& path) {
  auto tensors = std::make_unique<StoredTensors>(path, "directory of npy");
  for (const fs::path& array : arrays_in(path)) {
    auto file = std::make_shared<OpenFile>(array);
    const std::uint64_t size = file->size();
    add_array(*tensors, array.lexically_relative(path).replace_extension().generic_string(),
              part_of(std::move(file), 0, size), array.string());
  }
  return tensors;
}

std::unique_ptr<TensorFile> open_npz(std::shared_ptr<const ZipArchive> archive) {
  const std::vector<ZipMember>& members = archive->members();
  if (!members.empty() && std::none_of(members.begin(), members.end(), [](const ZipMember& one) {
        return one.name.ends_with(kExtension);
      }))
    throw Error(ErrorCode::not_a_dump,
                fmt::format("'{}' is a zip archive without tensors", archive->path().string()),
                "those of NumPy and PyTorch are read");
  auto tensors = std::make_unique<StoredTensors>(archive->path(), "npz");
  for (const ZipMember& member : archive->members()) {
    std::string name = member.name;
    if (name.ends_with('/')) continue;
    if (!name.ends_with(kExtension)) {
      tensors->add_unreadable(std::move(name), "is not a .npy file");
      continue;
    }
    name.resize(name.size() - kExtension.size());
    add_array(*tensors, std::move(name), member_of(archive, member),
              fmt::format("{}' in '{}", member.name, archive->path().string()));
  }
  return tensors;
}

}  // namespace ulpscope::tensors
