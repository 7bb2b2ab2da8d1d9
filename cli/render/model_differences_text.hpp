#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Where the models of the two runs differ: a row each, the first ones if there are many.
void render_model_differences(const Report& report, Page& page);

}  // namespace ulpscope::cli
