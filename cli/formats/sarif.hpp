#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report as a SARIF 2.1.0 log: a result for each finding, whose rule is its first cause, and a
/// rule for each of these, with its page of `ulpscope explain`.
void render_sarif(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
