#pragma once

#include "compare/diff/explain/op_pair.hpp"

/// What may explain that an op differs; OpJudge has their order. Each sees the pair, the ledger and
/// what the ones before it have found, and enters findings and reasons.
namespace ulpscope::comparison {

/// A generator is in a different state: the numbers drawn here differ, as do later ones.
void explain_draws(OpPair& ops);

/// Values that differ already cannot be distinguished, but the ops that wrote them can: the program
/// has exchanged tensors.
void explain_exchanged(OpPair& ops);

/// What it reads differs: for a reason that is known, or from here on.
void explain_inputs(OpPair& ops);

/// What it reads differs already. A number written in the program is still a different setting; one
/// that was computed may follow from what the program has read before.
void explain_settings(OpPair& ops);

/// What it reads is equal, and it was given different arguments.
void explain_arguments(OpPair& ops);

/// One run alone needs a gradient with respect to an input, since an op that only the other has
/// gave that run the same memory without one: what its backward lacks follows from that op.
void explain_detached(OpPair& ops);

/// The same elements in a different shape or order explain a different result, and are passed on by
/// an op that returns them. Values laid out so differently that they were not compared may explain
/// it too, if something before them is in question.
void explain_rearranged(OpPair& ops);

/// Equal inputs, and different results: the op, or the deepest one that it calls, is an origin.
void explain_results(OpPair& ops);

/// What differs only inside is kept back until its effect is read: the op's own results are equal.
void explain_inside(OpPair& ops);

/// Parameters of other names hold the same, so that nothing differs yet.
void explain_other_parameters(OpPair& ops);

/// What it read differed before. What it computes from that is its own: the outermost op that has
/// an error model is replayed.
void explain_replays(OpPair& ops);

/// An op that differs may also have drawn a different amount: then that is why the RNG states
/// diverge after it.
void shift_streams(OpPair& ops);

/// Notes, once, that the runs use different devices, and for each op that its tensors are laid out
/// differently.
void note_placement(OpPair& ops);

}  // namespace ulpscope::comparison
