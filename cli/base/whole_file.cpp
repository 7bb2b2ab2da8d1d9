#include "cli/base/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return;
  throw fs::filesystem_error("write", path, std::error_code(errno, std::generic_category()));
}

/// The file that is meant if `path` is a link.
fs::path target(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::canonical(path, error);
  return error ? path : result;
}

}  // namespace

void write_whole_file(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) return write(path, text);
  const fs::path file = target(path);
  const fs::path partial = fmt::format("{}.{}.partial", file.string(), getpid());
  try {
    write(partial, text);
    fs::rename(partial, file);
  } catch (const fs::filesystem_error&) {
    fs::remove(partial, ignored);
    throw;
  }
}

}  // namespace ulpscope::cli
