#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// A summary for a comment on a pull request, in at most 60,000 bytes (GitHub takes 65,536): the
/// verdict, the first finding, a list of the first findings, settings that can change bits, and the
/// text report folded away.
void render_markdown_report(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
