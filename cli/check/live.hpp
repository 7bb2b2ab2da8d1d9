#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/live_watch.hpp"
#include "cli/check/made_run.hpp"
#include "cli/check/sighting.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Two programs side by side.
struct LiveOptions {
  std::vector<std::string> reference;  ///< commands
  std::vector<std::string> candidate;
  std::uint64_t window = 200;       ///< steps of each that are kept; one may be ahead by half
  bool allow_longer = false;        ///< steps that one has after the other's end do not count
  std::filesystem::path directory;  ///< where the dumps go; empty: a new one in runs
  /// Runs `record` with these arguments, with what it records watched; returns the exit code.
  std::function<int(const std::vector<std::string>& arguments, LiveWatch& watch)> record;
};

struct LiveResult {
  std::optional<Trouble> trouble;  ///< why one cannot be compared; then there is no comparison
  /// Of where they diverge, or of what both left. Its verdict is that of all that they did: how
  /// they ended and steps that are not kept included.
  std::optional<Report> comparison;
  std::uint64_t steps = 0;            ///< that were compared
  std::optional<int> reference_code;  ///< empty: it was ended
  std::optional<int> candidate_code;
  std::vector<std::filesystem::path> kept;
};

/// Records both and compares them step by step. The one that is ahead waits for the other; both end
/// where they diverge.
[[nodiscard]] LiveResult live(const LiveOptions& options, const RunMaker::Watch& watch);

}  // namespace ulpscope::cli
