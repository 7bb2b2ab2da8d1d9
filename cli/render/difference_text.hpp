#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// How far apart the two values of `tensor` are, inside the frame: the element with the largest
/// difference in both runs, the distances over all elements, and the histogram beside or below it.
void render_difference(const Report& report, const TensorReport& tensor, Page& page);

}  // namespace ulpscope::cli
