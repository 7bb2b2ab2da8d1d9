#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// What ops have taken of their error budgets, most first, and why ops were not judged.
void render_op_budgets(const Report& report, Page& page);

}  // namespace ulpscope::cli
