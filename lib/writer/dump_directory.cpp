#include "writer/dump_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "dump/status.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::writer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ErrorCode::io,
              fmt::format("the dump '{}' could not be made: {}", path.string(), error.message()),
              "choose a place that can be written with -o");
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// A file that a rank of a dump consists of.
bool belongs_to_a_rank(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.is_regular_file() && (name.starts_with("segment-") || name.starts_with("journal-"));
}

bool belongs_to_a_dump(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  constexpr std::string_view kRank = "rank";
  if (name.starts_with("status.json")) return entry.is_regular_file();
  if (!name.starts_with(kRank) || !all_digits(std::string_view(name).substr(kRank.size()))) {
    return false;
  }
  if (entry.is_symlink() || !entry.is_directory()) return false;
  return std::all_of(fs::directory_iterator(entry), {}, belongs_to_a_rank);
}

fs::path first_free(const std::string& program) {
  const fs::path parent = "runs";
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) fail(parent, error);
  for (std::uint64_t n = 1;; ++n) {
    fs::path path = parent / fmt::format("{}-{}", program, n);
    if (fs::create_directory(path, error)) return path;  // atomic: parallel recordings share runs/
    if (error) fail(path, error);
  }
}

fs::path made(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, error);
  return path;
}

/// Of a directory that is locked.
void make_room(const fs::path& path, bool force) try {
  const std::vector<fs::directory_entry> entries(fs::directory_iterator(path), {});
  if (entries.empty()) return;
  const bool is_dump = std::all_of(entries.begin(), entries.end(), belongs_to_a_dump) &&
                       dump::read_status(path).has_value();
  if (!is_dump) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' holds files that belong to no dump", path.string()),
                "choose a different place with -o");
  }
  if (!force) {
    throw Error(ErrorCode::usage, fmt::format("'{}' holds a dump already", path.string()),
                "--force replaces it, -o chooses a different place");
  }
  for (const fs::directory_entry& entry : entries) fs::remove_all(entry);
} catch (const fs::filesystem_error& error) {
  fail(path, error.code());
}

}  // namespace

DumpDirectory::DumpDirectory(const fs::path& wanted, const std::string& program, bool force)
    : path_(wanted.empty() ? first_free(program) : made(wanted)), lock_(path_) {
  make_room(path_, force);
}

std::uint64_t bytes_on_disk(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator i(directory, error), end; i != end; i.increment(error)) {
    std::error_code unreadable;
    const std::uintmax_t size = i->file_size(unreadable);
    if (!unreadable) bytes += size;
  }
  return bytes;
}

}  // namespace ulpscope::writer
