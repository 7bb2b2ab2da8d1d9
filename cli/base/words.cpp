#include "cli/base/words.hpp"

#include <algorithm>

namespace ulpscope::cli {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result;
  for (;;) {
    const std::size_t found = text.find(what);
    result += text.substr(0, found);
    if (found == std::string_view::npos) return result;
    result += with;
    text.remove_prefix(found + what.size());
  }
}

}  // namespace ulpscope::cli
