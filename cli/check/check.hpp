#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/check/check_report.hpp"
#include "cli/check/made_run.hpp"
#include "cli/check/variants.hpp"

namespace ulpscope::cli {

struct CheckOptions {
  std::vector<Variant> variants;    ///< at least one
  std::vector<Variation> settings;  ///< those of the variants
  std::size_t runs =
      0;               ///< recorded runs; 0: until two differ, at most five or two of each variant
  bool replay = true;  ///< replay the op where runs diverge, if that can be done
  bool until_differs = false;  ///< go on after `runs` until two differ
  bool all_origins = false;    ///< look for further ones behind the first
  std::size_t bare_runs = 2;
  std::size_t max_runs = 50;                         ///< in all
  std::chrono::duration<double> max_time{};          ///< 0: no limit
  std::uint64_t max_bytes = std::uint64_t{4} << 30;  ///< of all dumps
  std::filesystem::path directory;                   ///< where dumps go; empty: a new one in runs
  RunSettings run;
};

/// Runs a program several times, compares what it computed, and records what is needed to explain
/// the first difference. Dumps that are not needed any more are removed as it goes.
///
/// @throws Error if the program cannot be recorded or there is no room for its dumps.
[[nodiscard]] CheckReport check(const CheckOptions& options, const RunMaker::Watch& watch);

}  // namespace ulpscope::cli
