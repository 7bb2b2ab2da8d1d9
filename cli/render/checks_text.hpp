#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// What a single run shows about habits of programs whose runs differ, rank by rank.
void render_checks(const Run& run, Page& page);

}  // namespace ulpscope::cli
