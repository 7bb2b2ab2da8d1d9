#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Workflow commands of GitHub Actions, which shows them as annotations of a run and, where a
/// finding's line is known, of the file: the verdict and the first findings.
void render_github(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
