#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The first finding in full, then the others by their cause: those that share one are a block with
/// a line each.
void render_findings(const Report& report, Page& page);

}  // namespace ulpscope::cli
