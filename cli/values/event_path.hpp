#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/replay_report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// The event that a text names in the first rank of a run: "17/140913", "event:140913", or
/// "event:2:140913" on lane 2. Without a lane the main one counts, or else the only one that has
/// such an event.
/// @throws Error with ErrorCode::usage if there is none, or several.
[[nodiscard]] RecordedPlace find_place(const Run& run, const std::string& text);

/// "setup", "17".
[[nodiscard]] std::string step_name(std::int64_t step);

}  // namespace ulpscope::cli
