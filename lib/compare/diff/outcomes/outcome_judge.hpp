#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "compare/diff/outcomes/enter_outcomes.hpp"
#include "compare/diff/outcomes/lone_outcomes.hpp"
#include "compare/diff/outcomes/run_outcomes.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Compares what both runs of a rank leave: parameters, buffers and other live memory when they
/// end, the states of generators and the hyperparameters of optimizers. Independent of how ops were
/// aligned: equal contents are partners, those under one name first, then parameters and buffers by
/// their names. Says which finding has changed an outcome, and finds what changed after the last
/// op.
///
/// Everything else has been compared before. Memory that only one run holds is not a difference if
/// ops that both runs have made it, because it was equal then; or if ops that both runs have read
/// it since, because their results were compared; or if any op has and it was gone when the run
/// ended. Otherwise the run leaves something that the other one does not, if the memory outlived
/// the op that made it; if that was the last op, this is unknown.
class OutcomeJudge {
 public:
  explicit OutcomeJudge(RankState& state);

  void judge();

 private:
  void note_totals();
  void take_partners_out();
  void pair_named();
  void differ(const Outcome& reference, const Outcome& candidate);
  void drop_inherited();
  void judge_shorter(Side side);
  void judge_rest(Side side);
  void judge_changed(Side side, const Outcome& outcome);
  void judge_reset_gradients(Side side);
  void judge_dropped_state(Side side);
  void judge_noted();
  [[nodiscard]] bool held_otherwise(Side side, const Outcome& outcome) const;
  [[nodiscard]] bool is_from_before(Side side, const Outcome& outcome);
  [[nodiscard]] const Outcome* partner_of(Side side, const Outcome& outcome) const;
  [[nodiscard]] std::optional<Source> reason(Side side, const Outcome& outcome) const;
  [[nodiscard]] bool both_leave(Side side, const Slot& slot) const;
  [[nodiscard]] OutcomePair ends() const { return {left_.reference.end, left_.candidate.end}; }

  RankState& state_;
  Both<RunOutcomes> left_;
  LoneOutcomes lone_;
  /// Storages that were there before the steps that are compared, where those are shifted.
  Both<std::optional<std::set<std::uint64_t>>> storages_before_;
  std::vector<OutcomePair> unexplained_;
};

}  // namespace ulpscope::comparison
