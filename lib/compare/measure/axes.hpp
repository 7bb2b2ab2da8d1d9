#pragma once

#include <vector>

#include "compare/measure/value_pair.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::comparison {

/// For each dimension of the shape, on which of its indices elements differ in their bits; an
/// expanded dimension has one. Empty if the value is too large to be in memory as a whole, or has
/// no dimensions.
[[nodiscard]] std::vector<AxisDifference> differing_axes(const ValuePair& pair);

}  // namespace ulpscope::comparison
