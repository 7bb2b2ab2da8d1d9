#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/budget/budget_judge.hpp"
#include "compare/describe.hpp"
#include "compare/side.hpp"
#include "ulpscope/replay.hpp"

namespace ulpscope::comparison::budget {

/// An op of both runs, each run's results held against the op executed again on its own inputs.
struct ReplayJudged {
  Judged judged;
  std::string failure;         ///< why it was not judged, or empty
  Both<bool> own_outside{};    ///< a run's result is not what its inputs explain
  Both<std::string> operands;  ///< with operands rounded so they do; "" where none are known
  [[nodiscard]] bool outside() const noexcept { return judged.summary.outside > 0; }
};

/// Judges the results that differ, among `slots`. The op must have an error model.
[[nodiscard]] ReplayJudged judge_replayed(Replayer& replayer, const Scene& scene, EventPair at,
                                          const std::vector<SlotPair>& slots);

/// Whether a model is known for an op of that name, in both runs.
[[nodiscard]] bool has_model(const Scene& scene, EventPair at);

/// Adds to the table of ops what was judged of one.
void add(std::vector<OpBudget>& to, std::string_view op, const Judged& judged);

/// Adds the table and the counts of another rank.
void add(std::vector<OpBudget>& to, const std::vector<OpBudget>& more);
void add(ReplaySummary& to, const ReplaySummary& more);

/// Counts an op that was not judged.
void add_unjudged(ReplaySummary& to, const std::string& reason, std::uint64_t times = 1);

}  // namespace ulpscope::comparison::budget
