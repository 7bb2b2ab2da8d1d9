#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/measure/budget/budget_judge.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/replay.hpp"

namespace ulpscope::comparison::budget {

/// An op of both runs, each run's results compared with the op replayed on its own inputs.
struct ReplayJudged {
  Judged judged;
  std::string failure;         ///< why it was not judged, or empty
  Both<bool> own_outside{};    ///< a run's result is not what its inputs explain
  Both<std::string> operands;  ///< with operands rounded so they do; "" where none are known
  [[nodiscard]] bool outside() const noexcept { return judged.summary.outside > 0; }
};

/// Whether a result differs, or is laid out so differently that this is unknown: each run's can
/// still be compared with the op replayed.
[[nodiscard]] inline bool may_differ(const SlotPair& slot) {
  return slot.role() != Role::input && (is_difference(slot.match) || slot.match == Match::layout);
}

/// Judges the results that may differ, among `slots`. The op must have an error model.
[[nodiscard]] ReplayJudged judge_replayed(Replayer& replayer, const Scene& scene, EventPair at,
                                          const std::vector<SlotPair>& slots);

/// The same for an op that only `side` has: all its results.
[[nodiscard]] ReplayJudged judge_alone(Replayer& replayer, const Scene& scene, Side side,
                                       std::uint32_t event);

/// "no error budget is known for aten::renorm".
[[nodiscard]] std::string unknown_model(std::string_view op);

/// Whether a model is known for an op of that name, in both runs.
[[nodiscard]] bool has_model(const Scene& scene, EventPair at);

/// Adds to the table of ops what was judged of one.
void add(std::vector<OpBudget>& to, std::string_view op, const Judged& judged);

/// Adds the table and the counts of a further rank.
void add(std::vector<OpBudget>& to, const std::vector<OpBudget>& more);
void add(ReplaySummary& to, const ReplaySummary& more);

/// Counts an op that was not judged.
void add_unjudged(ReplaySummary& to, const std::string& reason, std::uint64_t times = 1);

}  // namespace ulpscope::comparison::budget
