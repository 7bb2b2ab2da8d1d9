#pragma once

#include "compare/diff/describe.hpp"

namespace ulpscope::comparison {

/// Keeps with a finding what it turned out to change: the first differing value of an op that both
/// runs have. Of kinds that name their tensors themselves it keeps nothing.
void keep_effect(Record& record, const Scene& scene, EventPair at);

/// "the first value that differs after it is input 0 of aten::mm ...", with how far apart the runs
/// are where their bytes are known.
[[nodiscard]] std::string effect_words(const Effect& effect);

}  // namespace ulpscope::comparison
