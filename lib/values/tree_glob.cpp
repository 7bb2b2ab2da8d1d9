#include "values/tree_glob.hpp"

#include <fnmatch.h>

#include <span>
#include <string>
#include <vector>

namespace ulpscope::stored {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

/// `reached[i]`: the parts of the glob so far match the first i parts of the path.
bool matches_parts(std::span<const std::string> glob, std::span<const std::string> path) {
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (const std::string& part : glob) {
    std::vector<bool> next(path.size() + 1, false);
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (part == "**") {
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      } else if (i > 0 && reached[i - 1]) {
        next[i] = ::fnmatch(part.c_str(), path[i - 1].c_str(), 0) == 0;
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

}  // namespace

bool matches_glob(std::string_view glob, std::string_view path) {
  return matches_parts(parts_of(glob), parts_of(path));
}

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

}  // namespace ulpscope::stored
