#pragma once

#include <optional>
#include <string>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/describe.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// What each run passes to an op at an input, if that is not the same tensor of the program. Two
/// tensors are known to be two where ops that both runs have made the memory of each. Of others
/// both runs have the value that one of them reads here, made by an op or held by a parameter, and
/// the other run reads something else, or a different part of it. `at` reads the input; nothing
/// known makes it differ. Empty if that cannot be determined: a batch, memory that the program
/// filled itself unless both runs have computed with both of them for this step, in the model or
/// while they prepared its data.
[[nodiscard]] std::optional<Both<std::string>> other_tensor(const RankState& state,
                                                            const Scene& scene, EventPair at,
                                                            const SlotPair& input);

/// "weight of Net" and "weight of Net#2": two models of one kind; both runs have both, and they
/// call different ones.
[[nodiscard]] std::optional<Both<std::string>> other_root(const RankState& state,
                                                          const Scene& scene, EventPair at,
                                                          const SlotPair& input);

/// "index of aten::gather, encoder.0, event 12": the first op of the model that has read in this
/// window what a run gives the op now; empty if none has.
[[nodiscard]] std::string read_before(const Scene& scene, Side side, EventPair at,
                                      const SlotPair& input);

}  // namespace ulpscope::comparison
