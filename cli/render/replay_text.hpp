#pragma once

#include <ostream>

#include "cli/render/page.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::cli {

/// What replaying an op has shown: the answer, the runs, a line for each variant.
void render_replay(const ReplayReport& report, Page& page);

/// The same as the JSON document "ulpscope-replay".
void render_replay_json(const ReplayReport& report, std::ostream& out);

}  // namespace ulpscope::cli
