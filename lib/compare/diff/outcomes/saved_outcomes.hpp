#pragma once

#include "compare/diff/outcomes/enter_outcomes.hpp"
#include "compare/diff/outcomes/saved_files.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// The settings of the rank in both runs.
[[nodiscard]] Noted noted_by(const RankState& state);

/// Tensors that one run saves at a place where the other one saves none. Where the other one has no
/// such place, it may have saved the same less often. In files with the same keys a tensor that the
/// other run never saves stands in the place of another one.
void judge_saved_alone(RankState& state, Side side);

/// An optimizer that both runs leave is set otherwise since its last step.
/// @param ends where the runs end
void judge_left_options(RankState& state, const Noted& noted, const OutcomePair& ends);

/// A file that both runs save has other keys or whole numbers.
void judge_saved_files(RankState& state, const Noted& noted, const OutcomePair& ends);

/// A file that both runs save holds other tensors in the end: each is of a save whose tensors the
/// other run has as well, in another file or an earlier one of that name.
void judge_last_files(RankState& state, const Noted& noted);

}  // namespace ulpscope::comparison
