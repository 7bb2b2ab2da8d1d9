#include "cli/base/library_beside.hpp"

#include <system_error>

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
       {"lib", "lib/ulpscope", ULPSCOPE_LIBRARY_DIRECTORY "/ulpscope"})
    directories.push_back(prefix() / directory);
  return directories;
}

fs::path library_directory() { return prefix() / "lib"; }

}  // namespace ulpscope::cli
