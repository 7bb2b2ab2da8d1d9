#pragma once

#include "compare/align/op_comparison.hpp"
#include "compare/measure/tolerance.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// The names by which the rules of a tolerance can refer to a tensor of the events at `at`: the
/// outermost op, what it runs inside, and the ops inside that left the same content in the same
/// memory.
[[nodiscard]] ValueNames names_of(const Scene& scene, EventPair at, const SlotPair& slot);

/// The same for a finding as it is reported.
[[nodiscard]] ValueNames names_of(const Finding& finding);

}  // namespace ulpscope::comparison
