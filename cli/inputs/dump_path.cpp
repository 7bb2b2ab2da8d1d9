#include "cli/inputs/dump_path.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/base/nearest.hpp"
#include "compare/model/words.hpp"
#include "dump/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhatADumpIs = "a dump is the directory that `ulpscope record -o` wrote";

[[noreturn]] void refuse(const std::string& sentence, const std::string& meant) {
  throw Error(ErrorCode::not_a_dump, sentence,
              meant.empty() ? kWhatADumpIs : fmt::format("did you mean {}?", meant));
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool has_status(const fs::path& path) { return is_there(dump::status_path(path)); }

/// The directories in `path` that look like dumps, by name.
std::vector<std::string> dumps_in(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(path, error), end; i != end; i.increment(error)) {
    if (has_status(i->path())) names.push_back(i->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string nearest_dump(const fs::path& path) {
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = nearest(path.filename().string(), dumps_in(parent));
  if (name.empty()) return {};
  return path.has_parent_path() ? (parent / name).string() : name;
}

/// The dump that a file or directory is a part of.
fs::path dump_around(const fs::path& path) {
  for (fs::path above = path.parent_path(); !above.empty(); above = above.parent_path()) {
    if (has_status(above)) return above;
    if (above == above.parent_path()) break;
  }
  return {};
}

/// What a rank's directory selects: "runs/a@rank=2".
std::string rank_argument(const fs::path& path) {
  const std::string digits = path.filename().string().substr(4);
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  return fmt::format("{}@rank={}", path.parent_path().string(), digits.substr(first));
}

bool is_rank(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("rank") && name.size() > 4 &&
         name.find_first_not_of("0123456789", 4) == std::string::npos;
}

}  // namespace

bool is_in_dump(const fs::path& path) {
  const bool is_ours = is_rank(path.parent_path()) || path.filename() == dump::status_path({});
  return is_ours && !dump_around(path).empty();
}

void require_dump(const fs::path& path) {
  fs::path clean = path;
  if (!clean.has_filename()) clean = clean.parent_path();
  if (!is_there(clean)) {
    refuse(fmt::format("'{}' does not exist", path.string()), nearest_dump(clean));
  }
  const fs::path around = dump_around(clean);
  if (!is_folder(clean)) {
    refuse(fmt::format("'{}' is a file, and a dump is a directory", path.string()),
           around.string());
  }
  if (has_status(clean) || !dump::list_ranks(clean).empty()) return;
  if (is_rank(clean) && !around.empty()) {
    refuse(fmt::format("'{}' is a part of a dump", path.string()), rank_argument(clean));
  }
  const std::vector<std::string> inside = dumps_in(clean);
  throw Error(ErrorCode::not_a_dump, fmt::format("'{}' is not a dump", path.string()),
              inside.empty() ? kWhatADumpIs
                             : fmt::format("dumps in it: {}", comparison::listed(inside, 4)));
}

std::string ranks_in_words(const fs::path& dump) {
  std::vector<std::uint32_t> numbers;
  for (const dump::RankFiles& files : dump::list_ranks(dump)) numbers.push_back(files.rank);
  if (numbers.empty()) return {};
  const std::uint32_t last = numbers.back();
  numbers.pop_back();
  return numbers.empty() ? fmt::format("rank {}", last)
                         : fmt::format("ranks {} and {}", fmt::join(numbers, ", "), last);
}

}  // namespace ulpscope::cli
