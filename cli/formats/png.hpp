#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The picture of render_svg() at twice its size, drawn by the program `rsvg-convert`.
/// @throws Error with ErrorCode::io if that is not installed, or fails.
void render_png(const Report& report, std::ostream& out);

/// @throws the same, if no picture could be drawn.
void require_png();

}  // namespace ulpscope::cli
