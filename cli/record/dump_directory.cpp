#include "cli/record/dump_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ErrorCode::io,
              fmt::format("the dump '{}' could not be made: {}", path.string(), error.message()),
              "choose a place for it with -o");
}

bool belongs_to_a_dump(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view kRank = "rank";
  const bool is_rank = name.starts_with(kRank) && name.size() > kRank.size() &&
                       name.find_first_not_of("0123456789", kRank.size()) == std::string::npos;
  return is_rank || name.starts_with("status.json");
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

void make_room(const fs::path& path, bool force) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator i(path, error), end; i != end; i.increment(error)) {
    entries.push_back(i->path());
  }
  if (error) fail(path, error);
  if (entries.empty()) return;
  if (!std::all_of(entries.begin(), entries.end(), belongs_to_a_dump)) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' holds files that belong to no dump", path.string()),
                "choose another place with -o");
  }
  if (!force) {
    throw Error(ErrorCode::usage, fmt::format("'{}' holds a dump already", path.string()),
                "--force replaces it, -o chooses another place");
  }
  for (const fs::path& entry : entries) {
    fs::remove_all(entry, error);
    if (error) fail(path, error);
  }
}

}  // namespace

fs::path make_dump_directory(const fs::path& wanted, const std::string& program, bool force) {
  if (wanted.empty()) return first_free(program);
  std::error_code error;
  fs::create_directories(wanted, error);
  if (error) fail(wanted, error);
  make_room(wanted, force);
  return wanted;
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

}  // namespace ulpscope::cli
