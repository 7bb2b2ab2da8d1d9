#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report as JUnit XML: one suite, a case for the verdict and one for each finding that
/// diverges. Within a tolerance they pass; an inconclusive comparison is an error, not a failure.
void render_junit(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
