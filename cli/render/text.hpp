#pragma once

#include <ostream>

#include "cli/term/terminal.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report for people: both runs, the settings that differ, the first finding in
/// full, the others shorter, and the verdict in the last line.
void render_text(const Report& report, const Terminal& terminal, std::ostream& out);

}  // namespace ulpscope::cli
