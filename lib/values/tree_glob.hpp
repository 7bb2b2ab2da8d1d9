#pragma once

#include <string_view>

namespace ulpscope::stored {

/// Whether a path matches: in a part between slashes `*`, `?` and `[a-z]` mean what they do in a
/// shell; a part `**` matches any number of parts, including none.
[[nodiscard]] bool matches_glob(std::string_view glob, std::string_view path);

/// Whether the text is more than a plain path.
[[nodiscard]] bool is_glob(std::string_view text);

}  // namespace ulpscope::stored
