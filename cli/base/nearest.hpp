#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ulpscope::cli {

/// The candidate that takes the fewest edits (insert, delete, replace, swap of neighbors) to
/// become `word`; empty if none is close enough.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace ulpscope::cli
