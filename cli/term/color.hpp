#pragma once

#include <cstdint>

namespace ulpscope::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

/// Whether to color output to `descriptor`: the choice made by option, then NO_COLOR, then
/// CLICOLOR_FORCE, then whether it is a terminal that is not dumb.
[[nodiscard]] bool wants_color(ColorChoice choice, int descriptor);

}  // namespace ulpscope::cli
