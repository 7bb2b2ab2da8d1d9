#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/record/cost_estimate.hpp"
#include "cli/term/progress.hpp"
#include "dump/recording.hpp"

namespace ulpscope::cli {

/// Reports the progress of the recording: at the terminal the counts so far, once what a step costs
/// on the disk, and once what it waits for when the command has ended and other processes have not.
class Patience {
 public:
  Patience(std::string program, std::optional<CostEstimate> estimate);

  void command_runs(const dump::RecordingCounts& counts);
  void command_has_ended(const dump::RecordingCounts& counts);

 private:
  void show(const dump::RecordingCounts& counts);

  std::string program_;
  std::optional<CostEstimate> estimate_;
  bool command_prints_here_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  bool said_ = false;
  Progress progress_;
};

}  // namespace ulpscope::cli
