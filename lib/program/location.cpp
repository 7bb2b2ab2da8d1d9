#include "program/location.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "ulpscope/error.hpp"

namespace ulpscope::program {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool can_run(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> folders_on_path() {
  std::vector<fs::path> folders;
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

}  // namespace

fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : path.parent_path();
}

fs::path find_writer() {
  if (const std::string given = variable("ULPSCOPE_BINARY"); !given.empty()) {
    if (can_run(given)) return fs::absolute(given);
    throw Error(ErrorCode::io, "ULPSCOPE_BINARY names '" + given + "', which cannot be run");
  }
  std::vector<fs::path> folders;
  if (const fs::path own = own_folder(); !own.empty()) {
    folders = {own / "../bin", own / "../../bin"};  // lib, lib/x86_64-linux-gnu
  }
  folders.emplace_back(ULPSCOPE_INSTALLED_BINARIES);
  for (const fs::path& folder : folders_on_path()) folders.push_back(folder);
  for (const fs::path& folder : folders) {
    if (const fs::path path = folder / "ulpscope"; can_run(path)) {
      return fs::absolute(path).lexically_normal();
    }
  }
  throw Error(ErrorCode::io, "the program 'ulpscope', which writes the dump, was not found",
              "put it on PATH, or name it in ULPSCOPE_BINARY");
}

std::vector<fs::path> capture_folders() {
  if (const fs::path given = variable("ULPSCOPE_CAPTURE_LIBRARY"); !given.empty()) {
    std::error_code error;
    return {fs::is_directory(given, error) ? given : given.parent_path()};
  }
  std::vector<fs::path> folders;
  if (const fs::path own = own_folder(); !own.empty()) folders = {own / "ulpscope", own};
  folders.emplace_back(ULPSCOPE_INSTALLED_CAPTURE);
  return folders;
}

}  // namespace ulpscope::program
