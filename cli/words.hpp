#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::cli {

/// The parts of `text` between separators that are not empty.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

}  // namespace ulpscope::cli
