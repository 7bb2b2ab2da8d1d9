#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// How far apart the runs are on the way from the first difference to the loss; nothing if that
/// is not known of two ops.
void render_path(const Report& report, Page& page);

/// The same per step; nothing if that is not known of two steps.
void render_growth(const Report& report, Page& page);

}  // namespace ulpscope::cli
