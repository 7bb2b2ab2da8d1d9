#include "cli/base/library_beside.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

fs::path prefix() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

}  // namespace

std::optional<fs::path> library_beside(std::string_view name) {
  for (const fs::path& directory : library_directories()) {
    std::error_code error;
    const fs::path path = fs::canonical(directory / name, error);
    if (!error) return path;
  }
  return std::nullopt;
}

std::vector<fs::path> library_directories() {
  std::vector<fs::path> directories;
  for (const std::string_view directory :
       {"lib", "lib/ulpscope", ULPSCOPE_LIBRARY_DIRECTORY "/ulpscope"}) {
    fs::path path = prefix() / directory;
    if (std::find(directories.begin(), directories.end(), path) == directories.end())
      directories.push_back(std::move(path));
  }
  return directories;
}

fs::path library_directory() { return prefix() / "lib"; }

}  // namespace ulpscope::cli
