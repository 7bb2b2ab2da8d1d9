#include "cli/inputs/module_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cli/term/escape.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kArrow = "->";

[[noreturn]] void refuse(const std::string& place, std::string_view what) {
  throw Error(
      ErrorCode::usage, fmt::format("{}: {}", place, what),
      "a line of a map is `encoder.*.attn -> blocks.*.attention`: the reference's name of a "
      "module, then the candidate's");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

ModuleRename parsed(std::string_view line, const std::string& place) {
  const std::size_t arrow = line.find(kArrow);
  if (arrow == line.npos) refuse(place, fmt::format("'{}' has no '->'", escaped(line)));
  const std::string_view reference = trimmed(line.substr(0, arrow));
  const std::string_view candidate = trimmed(line.substr(arrow + kArrow.size()));
  if (reference.empty() || candidate.empty()) refuse(place, "a name is missing beside '->'");
  for (const std::string_view name : {reference, candidate}) {
    if (name.find_first_of(" \t") != name.npos || name.find(kArrow) != name.npos) {
      refuse(place, fmt::format("'{}' is not one name", escaped(name)));
    }
  }
  if (std::count(reference.begin(), reference.end(), '*') !=
      std::count(candidate.begin(), candidate.end(), '*')) {
    refuse(place, "both names must have as many '*'");
  }
  return {std::string(reference), std::string(candidate)};
}

}  // namespace

std::vector<ModuleRename> read_module_map(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(file, ignored)) {
    throw Error(
        ErrorCode::io,
        fmt::format("the map '{}' cannot be read: {}", file,
                    errno == 0 ? "it is a directory" : std::generic_category().message(errno)),
        "name a file of lines like `encoder.*.attn -> blocks.*.attention`");
  }
  std::stringstream text;
  text << in.rdbuf();
  return parse_module_map(text.str(), file);
}

std::vector<ModuleRename> parse_module_map(const std::string& map, const std::string& file) {
  std::vector<ModuleRename> renames;
  std::istringstream in(map);
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (!text.empty()) renames.push_back(parsed(text, fmt::format("{}:{}", file, number)));
  }
  return renames;
}

}  // namespace ulpscope::cli
