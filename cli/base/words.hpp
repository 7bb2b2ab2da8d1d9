#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::cli {

/// The parts of `text` between separators that are not empty.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// `text` with every occurrence of `what`, which is not empty, replaced.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view what,
                                   std::string_view with);

}  // namespace ulpscope::cli
