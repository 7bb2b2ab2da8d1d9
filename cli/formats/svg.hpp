#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// A picture: the verdict, how the difference grows over the steps, and the ULP histogram of the
/// first finding. Its colors are readable on white and on dark.
void render_svg(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
