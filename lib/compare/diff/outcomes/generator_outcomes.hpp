#pragma once

#include "compare/diff/outcomes/enter_outcomes.hpp"
#include "compare/diff/outcomes/saved_files.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// LibTorch's default generator ends in a different state if only one run has drawn from it last.
/// @param ends where the runs end
void judge_default_generator(RankState& state, const OutcomePair& ends);

/// A generator of Python, NumPy or the program, in which no recorded op draws, ends in a different
/// state although both runs once had it in one; or one that the program has moved itself.
void judge_noted_generators(RankState& state, const Noted& noted, const OutcomePair& ends);

}  // namespace ulpscope::comparison
