#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/team/launch.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {

/// Opens one of the dumps; all members do it for themselves.
using OpenRun = std::function<std::unique_ptr<Run>()>;

/// What members have in common, and how each of them comes by it.
struct TeamTask {
  std::string arguments;  ///< the command line: all members must have been given the same
  OpenRun open_reference;
  OpenRun open_candidate;
  CompareOptions options;
  /// Called with both runs before they are compared.
  std::function<void(const Run&, const Run&, CompareOptions&)> prepare;
};

/// Compares together with the other processes of `launch`. The report for the one that speaks.
///
/// @throws Error at the one that speaks, whichever member came upon it; with ErrorCode::usage if
/// this program was built without MPI.
[[nodiscard]] std::optional<Report> compare_in_team(const Launch& launch, TeamTask task);

}  // namespace ulpscope::cli
