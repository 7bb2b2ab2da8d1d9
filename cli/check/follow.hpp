#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/recording_watch.hpp"
#include "cli/check/sighting.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// A recording that is compared with a finished dump while it goes on.
struct FollowOptions {
  /// Records in a process of its own, with what it records watched; returns the exit code.
  std::function<int(RecordingWatch&)> record;
  std::filesystem::path dump;  ///< where it records
  std::string reference;
  bool stop = false;          ///< stop the program where it diverges
  bool step_by_step = false;  ///< each step is published, and removed before the end
};

struct FollowResult {
  int exit_code = 0;               ///< of the recording
  std::optional<Trouble> trouble;  ///< why it has not begun; nothing else is known then
  std::optional<Report> diverged;
  std::uint64_t steps = 0;  ///< that were compared
  std::string failure;      ///< why not all were; empty if they were
};

/// The processes that were stopped; the first is one that records, if any does.
using StoppedProcesses = std::vector<pid_t>;

/// @param found called once, when the runs have diverged.
[[nodiscard]] FollowResult follow(
    const FollowOptions& options,
    const std::function<void(const Report&, const StoppedProcesses&)>& found);

}  // namespace ulpscope::cli
