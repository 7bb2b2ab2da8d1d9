#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ulpscope/replay_report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A step of a dump, or an event in it, as reports print them and users give them: "17", "setup",
/// "17/140913", "17/140,913".
struct StepPath {
  std::int64_t step = kSetup;
  std::optional<std::uint64_t> event;
};
/// Empty for any other text.
[[nodiscard]] std::optional<StepPath> parse_step_path(const std::string& text);

/// The event that a text names in the first rank of a run: "17/140913", "event:140913", or
/// "event:2:140913" on lane 2. Without a lane the main one counts, or else the only one that has
/// such an event.
/// @throws Error with ErrorCode::usage if there is none, or several.
[[nodiscard]] RecordedPlace find_place(const Run& run, const std::string& text);

/// "setup", "17".
[[nodiscard]] std::string step_name(std::int64_t step);

}  // namespace ulpscope::cli
