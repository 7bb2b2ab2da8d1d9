#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// How far apart the runs are between the first difference and the loss; nothing if that is known
/// for fewer than two ops.
void render_path(const Report& report, Page& page);

/// The same per step; nothing if that is known for fewer than two steps.
void render_growth(const Report& report, Page& page);

}  // namespace ulpscope::cli
