#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/experiment/op_call.hpp"
#include "compare/experiment/processes.hpp"
#include "compare/experiment/trials.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::comparison::experiment {

/// Replays the calls of one op, in the conditions of each run and in changed ones, and writes what
/// came out into a report: its variants, what became of each run, and notes.
class Experiment {
 public:
  /// One or two calls. The report has a run for each, and what is unequal.
  Experiment(std::vector<OpCall> calls, const ReplayerFactory& factory,
             const ReplayOptions& options, ReplayReport& report);

  void run();

  /// Whether both runs recorded the same results.
  [[nodiscard]] bool results_equal() const;
  /// Whether the dumps hold the results of every run.
  [[nodiscard]] bool results_known() const;
  /// Of the kernels in the base's process; empty if nothing was replayed.
  [[nodiscard]] const std::string& capability() const noexcept { return capability_; }
  /// Of the LibTorch that replays; empty if nothing was replayed.
  [[nodiscard]] const std::string& torch_version() const noexcept { return torch_version_; }

 private:
  [[nodiscard]] bool can_replay(std::size_t run) const { return calls_[run].failure.empty(); }
  [[nodiscard]] bool same_inputs() const { return report_.unequal.empty(); }
  [[nodiscard]] bool any_proved() const;
  [[nodiscard]] Plan plan() const;

  void measure_truth();
  void replay_as_recorded();
  void prove();
  void replay_changed();

  [[nodiscard]] Results in_float64(std::size_t run, std::int64_t rows);
  [[nodiscard]] bool rows_are_apart();
  void mark_rows_of_all();
  [[nodiscard]] Results part_of(const Results& results, const ReplayVariant& variant) const;
  [[nodiscard]] ReplayRequest request_of(const Trial& trial, std::size_t run) const;
  static void keep_conditions(ReplayVariant& variant, const ReplayRequest& request);
  [[nodiscard]] Repeats take(Trial& trial, std::size_t run);
  void refuse_layout(ReplayVariant& variant) const;
  void compare(ReplayVariant& variant, const Repeats& repeats, std::size_t run);
  void add(Trial& trial);
  [[nodiscard]] std::string missing_library(const std::string& failure) const;
  [[nodiscard]] std::string other_bits(std::size_t run, std::size_t row) const;

  std::vector<OpCall> calls_;
  Processes processes_;
  const ReplayOptions& options_;
  ReplayReport& report_;
  std::int64_t rows_ = 0;  ///< of the batch; 0 if the op has none
  std::string capability_;
  std::string torch_version_;
  std::array<Results, 2> truth_;  ///< each run's results in float64; empty where unknown
  /// The first results of each variant and run, of the variants as recorded.
  std::vector<std::array<Results, 2>> first_;
};

}  // namespace ulpscope::comparison::experiment
