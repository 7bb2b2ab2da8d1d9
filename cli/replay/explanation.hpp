#pragma once

#include <optional>

#include "ulpscope/replay_report.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// What replaying shows of a comparison's first finding. Empty if that is no origin, its bytes are
/// not in the dumps, or no program that replays ops is installed: then a note of the report says
/// so.
[[nodiscard]] std::optional<ReplayReport> explain_first(const Run& reference, const Run& candidate,
                                                        Report& report);

/// A cause that the experiment has shown is certain and comes first.
void confirm_cause(Report& report, const ReplayReport& replay);

}  // namespace ulpscope::cli
