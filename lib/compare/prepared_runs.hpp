#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/align/rank_pairs.hpp"
#include "compare/align/root_pairs.hpp"
#include "compare/align/task_ranks.hpp"
#include "compare/model/renamed_run.hpp"
#include "compare/model/selected_run.hpp"
#include "compare/model/side.hpp"
#include "compare/model/split_lane.hpp"
#include "compare/workforce.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::comparison {

/// Two runs as they are compared: the candidate under the reference's names, of both what both were
/// recorded for, backward in separate lanes in both if it is so in one of them, and what the main
/// thread does of work that it shares with others in a lane of its own.
class PreparedRuns {
 public:
  /// All of them must outlive it. @throws Error as compare() does.
  PreparedRuns(const Run& reference, const Run& candidate, const CompareOptions& options);
  PreparedRuns(const PreparedRuns&) = delete;
  PreparedRuns& operator=(const PreparedRuns&) = delete;

  [[nodiscard]] const Both<const Run*>& both() const noexcept { return runs_; }
  /// Which ranks are compared with each other.
  [[nodiscard]] const std::vector<RankPair>& pairs() const noexcept { return pairs_; }
  [[nodiscard]] const TaskRanks& task_ranks() const noexcept { return task_ranks_; }
  /// The candidate, where modules of it are renamed, else null.
  [[nodiscard]] RenamedRun* renamed() noexcept { return renamed_ ? &*renamed_ : nullptr; }

 private:
  void separate_backward();
  void separate_shared_work();

  Both<std::optional<SplitLaneRun>> apart_;
  Both<std::optional<SplitLaneRun>> shared_;
  std::optional<RootedRun> rooted_;
  std::optional<RenamedRun> renamed_;
  Both<std::optional<SelectedRun>> selected_;
  Both<const Run*> runs_;
  TaskRanks task_ranks_;
  std::vector<RankPair> pairs_;
};

[[nodiscard]] std::vector<Both<std::uint32_t>> numbers_of(const std::vector<RankPair>& pairs);

/// compare() with the work done by `workforce`, which has the same runs and options.
[[nodiscard]] Report compare_by(Workforce& workforce, PreparedRuns& runs,
                                const CompareOptions& options);

}  // namespace ulpscope::comparison
