#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report of two files of tensors, after the verdict: the first finding in full, the others as
/// rows.
void render_tensors(const Report& report, Page& page);

}  // namespace ulpscope::cli
