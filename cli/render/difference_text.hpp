#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// How far apart the two values of `tensor` are, inside the frame: the element with the largest
/// difference in both runs, the distances over all elements, and the histogram beside or below it.
/// ULP are left out where they say nothing: of values of a different origin that are far apart.
void render_difference(const Report& report, const Finding& finding, const TensorReport& tensor,
                       Page& page);

}  // namespace ulpscope::cli
