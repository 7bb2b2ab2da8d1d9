#pragma once

#include <cstddef>

namespace ulpscope::cli {

inline constexpr std::size_t kWidthWhenPiped = 100;
inline constexpr std::size_t kNarrowest = 40;

/// Columns for text written to `descriptor`: the terminal's, else kWidthWhenPiped.
[[nodiscard]] std::size_t output_width(int descriptor);

}  // namespace ulpscope::cli
