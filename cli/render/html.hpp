#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The report as one page that needs nothing else: the JSON document, and a viewer that shows it.
/// Where scripts do not run, the page shows the report as text.
void render_html(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
