#include "core/glob.hpp"

#include <fnmatch.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>

namespace ulpscope::core {

bool glob_match(std::string_view glob, std::string_view text) {
  if (glob.find_first_of("*?[\\") == std::string_view::npos) return glob == text;
  std::array<std::byte, 1024> stack;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::pmr::monotonic_buffer_resource memory(stack.data(), stack.size());
  const std::pmr::string pattern(glob, &memory);
  const std::pmr::string whole(text, &memory);
  return ::fnmatch(pattern.c_str(), whole.c_str(), 0) == 0;
}

bool glob_match_op(std::string_view glob, std::string_view op) {
  const std::size_t colons = op.find("::");
  return glob_match(glob, op) ||
         (colons != std::string_view::npos && glob_match(glob, op.substr(colons + 2)));
}

bool glob_match_module(std::string_view glob, std::string_view path) {
  if (path.empty()) return glob_match(glob, "(root)");
  for (;;) {
    if (glob_match(glob, path)) return true;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return false;
    path = path.substr(0, dot);
  }
}

}  // namespace ulpscope::core
