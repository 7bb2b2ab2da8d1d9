#pragma once

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The first finding: everything that is known.
void render_first_finding(const Report& report, std::size_t index, Page& page);

/// A further finding: where, what differs, and the likeliest cause.
void render_further_finding(const Report& report, std::size_t index, Page& page);

}  // namespace ulpscope::cli
