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

/// A whole number as reports print it, without the commas between its groups: "3048" for "3,048".
/// Other texts as they are.
[[nodiscard]] std::string ungrouped(std::string_view text);

}  // namespace ulpscope::cli
