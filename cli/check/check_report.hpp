#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/bisection.hpp"
#include "cli/check/observation.hpp"
#include "cli/check/rates.hpp"
#include "ulpscope/replay_report.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run_groups.hpp"

/// What `check` answers. Renderers print this value and compute nothing.
namespace ulpscope::cli {

struct CheckedRun {
  std::size_t number = 0;  ///< from 1
  std::string variant;     ///< "threads=2"; empty if there is only one
  bool recorded = false;
  bool with_bytes = false;  ///< bytes and call stacks around the difference, too
  int exit_code = 0;
  std::chrono::duration<double> took{};
  std::optional<std::size_t> group;  ///< index into CheckReport::groups; empty of a bare run
};

/// What shows once each op of a run is given the inputs that it has in the other one.
struct FurtherOrigins {
  std::size_t runs = 0;          ///< that were given them
  std::vector<Finding> further;  ///< that the runs as they are do not show, in order
  Report comparison;             ///< of the last of these runs
};

struct CheckReport {
  Verdict verdict = Verdict::inconclusive;
  std::vector<CheckedRun> runs;
  std::vector<RunGroup> groups;  ///< of the numbers of runs
  std::size_t largest = 0;       ///< the group with the most runs
  std::vector<RunSplit> splits;
  std::optional<Rate>
      rate;  ///< of recorded runs without bytes outside the largest group; without variants
  /// The two runs that explain the difference; with bytes if it came back when they were recorded.
  std::optional<Report> comparison;
  bool with_bytes = false;
  std::optional<ReplayReport> replay;  ///< of the op where they diverge
  std::optional<FurtherOrigins> origins;
  std::optional<Bisection> bisection;  ///< which of their settings makes them diverge
  Observation observation = Observation::unknown;
  std::vector<std::string> notes;           ///< what else the runs showed, a sentence each
  std::vector<std::filesystem::path> kept;  ///< dumps that remain
  std::uint64_t bytes_kept = 0;
  bool interrupted = false;
};

/// How many runs gave each result, in the order of the groups.
[[nodiscard]] std::vector<std::size_t> runs_by_result(const CheckReport& report);
/// The same at an op, of the runs that agree up to it, in the order of its results.
[[nodiscard]] std::vector<std::size_t> runs_by_result(const CheckReport& report,
                                                      const RunSplit& split);

}  // namespace ulpscope::cli
