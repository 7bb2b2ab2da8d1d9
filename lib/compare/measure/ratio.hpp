#pragma once

#include <optional>

#include "compare/measure/value_pair.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::comparison {

/// candidate / reference where that is one number for all elements, and not 1, give or take
/// `tolerance` of the largest. `apart` is how far the values are apart.
[[nodiscard]] std::optional<double> constant_ratio(const ValuePair& pair, const Difference& apart,
                                                   double tolerance);

}  // namespace ulpscope::comparison
