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
  std::string arguments;  ///< the command line: it must be the same for all members
  OpenRun open_reference;
  OpenRun open_candidate;
  CompareOptions options;
  /// Called with both runs before they are compared.
  std::function<void(const Run&, const Run&, CompareOptions&)> prepare;
};

/// Compares together with the other processes of `launch`. Returns the report in the member that
/// prints it.
///
/// @throws Error at the member that reports, whichever member met it; with ErrorCode::usage if
/// this program was built without MPI.
[[nodiscard]] std::optional<Report> compare_in_team(const Launch& launch, TeamTask task);

}  // namespace ulpscope::cli
