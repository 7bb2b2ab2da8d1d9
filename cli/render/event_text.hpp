#pragma once

#include <vector>

#include "cli/render/page.hpp"
#include "cli/term/table.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// One event in a list: position, phase, op under its callers, module.
[[nodiscard]] std::vector<Cell> event_row(const Event& event);

/// All that is known about one event.
void render_event(const Event& event, Page& page);

}  // namespace ulpscope::cli
