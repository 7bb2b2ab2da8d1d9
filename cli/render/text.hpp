#pragma once

#include <ostream>

#include "cli/render/page.hpp"
#include "cli/term/terminal.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report for people: the verdict in a sentence, then what render_details() prints.
void render_text(const Report& report, const Terminal& terminal, std::ostream& out);

/// The first finding in full, the others shorter, both runs, the settings that differ, and how far
/// the difference grows.
void render_details(const Report& report, Page& page);

}  // namespace ulpscope::cli
