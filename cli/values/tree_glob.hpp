#pragma once

#include <string_view>

namespace ulpscope::cli {

/// Whether a path has that form: in a part between slashes `*`, `?` and `[a-z]` stand for what they
/// do in a shell, a part `**` for any number of parts, none included.
[[nodiscard]] bool matches_glob(std::string_view glob, std::string_view path);

/// Whether the text is more than a plain path.
[[nodiscard]] bool is_glob(std::string_view text);

}  // namespace ulpscope::cli
