#pragma once

#include <string_view>

/// The one meaning of a pattern on the command line and in files: a shell pattern with `*`, `?` and
/// `[ab]` that fits the whole text (fnmatch, POSIX; '/' and '.' are characters like others).
namespace ulpscope::core {

[[nodiscard]] bool glob_match(std::string_view glob, std::string_view text);

/// An op goes by its full name or without its namespace: `mul` fits "aten::mul".
[[nodiscard]] bool glob_match_op(std::string_view glob, std::string_view op);

/// A module goes by its path or by that of a module it is in; the root is "(root)".
[[nodiscard]] bool glob_match_module(std::string_view glob, std::string_view path);

}  // namespace ulpscope::core
