#pragma once

#include "compare/diff/outcomes/outcome.hpp"
#include "compare/diff/outcomes/run_outcomes.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Judges what one run alone leaves: memory that its own ops have made or changed. What both runs
/// leave is not among `left` any more, except by its contents.
class LoneOutcomes {
 public:
  LoneOutcomes(RankState& state, const Both<RunOutcomes>& left) : state_(state), left_(left) {}

  /// What an op that only one run has made and nothing that was compared has read.
  void judge_made(Side side, const Outcome& outcome);
  /// A copy that one run alone makes of what both have: of what the other one leaves it is no more,
  /// of what was there before the end it is. Where both keep one, they have kept it at other times.
  void judge_copy(Side side, const Outcome& outcome);
  /// What an op that only one run has changed in memory that both runs have, and that was gone
  /// before anything read it. The other run may have an op of its own that did the same.
  void judge_changed(Side side);
  /// What an op that only one run has made became a tensor of the program, and was gone before the
  /// run ended: a thread of a pool may have left it in a parameter that belongs to no module.
  void judge_adopted(Side side);
  /// One run leaves one more.
  void count(Side side, const Outcome& outcome);

 private:
  void blame_for_more(Side side, const Source& source, const Slot& left);
  [[nodiscard]] bool leaves_copy_like(Side side, const Slot& copy) const;

  RankState& state_;
  const Both<RunOutcomes>& left_;
};

}  // namespace ulpscope::comparison
