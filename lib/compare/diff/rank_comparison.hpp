#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/align/step_sync.hpp"
#include "compare/diff/lane_comparison.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/worker_pool.hpp"

namespace ulpscope::comparison {

/// Compares one rank of one run with one rank of the other: all lanes, step by step, in the order
/// in which data flows between the lanes.
class RankComparison {
 public:
  RankComparison(const Run& reference, const Run& candidate, const Both<std::uint32_t>& ranks,
                 const CompareOptions& options, FindingBook& book, Totals& totals,
                 ValueJudge& judge, const WindowLimits& windows = {});

  void run();

  /// Steps that only one run has, after the other has ended.
  [[nodiscard]] const Both<std::uint64_t>& extra_steps() const noexcept { return extra_steps_; }
  /// All else being equal, one run has steps after the other's end.
  [[nodiscard]] bool is_longer() const noexcept { return state_.mode.longer.has_value(); }
  /// Steps inside the runs that only one of them recorded.
  [[nodiscard]] std::uint64_t skipped_steps() const noexcept { return skipped_steps_; }
  /// What could not be compared, in words.
  [[nodiscard]] const std::vector<std::string>& unseen() const noexcept { return unseen_; }

 private:
  struct NextStep {
    std::int64_t step = kSetup;  ///< in the reference's numbers
    Both<bool> has{};
  };
  [[nodiscard]] std::optional<NextStep> next_step() const;
  [[nodiscard]] std::int64_t to_candidate(std::int64_t step) const;
  [[nodiscard]] std::int64_t to_reference(std::int64_t step) const;
  [[nodiscard]] bool is_over(Side side) const;

  void choose_view();
  void pair_lanes();
  void pass_over_shifted_start();
  void pass_over_unrecorded_start(const Both<bool>& begins_late);
  void compare_steps();
  void compare_step(const StepsToCompare& steps);
  [[nodiscard]] StepGroup steps_together();
  void say_of_steps(std::string words);
  void compare_group(std::int64_t step, const StepGroup& group);
  void compare_extra_steps(std::int64_t step, Side side, std::int64_t count);
  void ensure(Side side, std::uint32_t lane, std::uint64_t position);

  /// A lane that has its own steps.
  struct Trainer {
    LaneComparison* lane = nullptr;
    std::optional<std::int64_t> step;  ///< the current one
  };
  [[nodiscard]] std::optional<std::int64_t> next_step(const Trainer& trainer) const;
  [[nodiscard]] bool advance(Trainer& trainer);
  void ensure(Trainer& trainer, Side side, std::uint64_t position);
  [[nodiscard]] bool is_trainer(const LaneComparison& lane) const;
  [[nodiscard]] ForwardId forward_ids() const;
  [[nodiscard]] std::uint64_t forward_number(Side side, std::uint32_t lane,
                                             std::uint64_t position) const;
  [[nodiscard]] std::optional<std::int64_t> next_step(Side side) const;
  [[nodiscard]] bool shares_no_step() const;
  [[nodiscard]] bool goes_on_unrecorded(Side side, std::int64_t step) const;
  void pass_over(Side side, std::int64_t step);
  void end_with_extra_steps(Side side);

  RankState state_;
  std::unique_ptr<WorkerPool> workers_;
  std::vector<std::unique_ptr<LaneComparison>> lanes_;
  std::vector<Trainer> trainers_;
  StepSync sync_;
  std::int64_t shift_ = 0;  ///< candidate step = reference step + this
  Both<std::uint64_t> extra_steps_;
  std::uint64_t skipped_steps_ = 0;
  bool compared_a_step_ = false;
  std::uint64_t said_of_steps_ = 0;  ///< times
  std::vector<std::string> unseen_;
};

}  // namespace ulpscope::comparison
