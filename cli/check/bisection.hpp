#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/check/made_run.hpp"
#include "cli/check/smallest_set.hpp"
#include "cli/check/switches.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

struct BisectionOptions {
  std::size_t repeats = 1;          ///< runs of each set
  std::size_t max_runs = 50;        ///< in all
  std::filesystem::path directory;  ///< where dumps go for the time being; empty: a new one in runs
  RunSettings run;
};

/// What runs with some of the candidate's settings computed.
struct Trial {
  IndexSet switched;  ///< indices of Bisection::switches
  std::size_t runs = 0;
  std::size_t as_reference = 0;  ///< runs that are equal to the reference
  std::size_t as_candidate = 0;  ///< to the candidate
};

enum class BisectionResult : std::uint8_t {
  found,            ///< `smallest` makes the difference
  equal,            ///< the two runs do not differ
  nothing_differs,  ///< they were started alike
  not_reproduced,   ///< a new run with the reference's settings is not equal to it
  no_difference,    ///< a new run with all settings of the candidate is equal to the reference
  stopped,          ///< at max_runs, or interrupted
};
[[nodiscard]] std::string_view name(BisectionResult result) noexcept;

struct Bisection {
  BisectionResult result = BisectionResult::stopped;
  std::vector<Switch> switches;
  IndexSet smallest;
  /// A smallest set that gives the candidate's bits, if `smallest` alone does not.
  IndexSet complete;
  std::vector<Trial> trials;
  std::vector<std::string> others;   ///< settings that differ and cannot be chosen
  std::vector<std::string> command;  ///< the reference's with `smallest`
};

/// Finds a smallest set of settings of which the difference between two dumps needs every one: runs
/// the reference's program with parts of what the candidate was started with.
///
/// @throws Error if the program cannot be recorded.
[[nodiscard]] Bisection bisect(const std::string& reference, const std::string& candidate,
                               const BisectionOptions& options, const RunMaker::Watch& watch);

}  // namespace ulpscope::cli
