#pragma once

#include <vector>

#include "compare/model/scene.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// Hyperparameters that differ, of the optimizer that an event is inside of; none outside of
/// optimizers. Of an event that only one run has, the partner is the optimizer of that class whose
/// step is the same one of the window.
[[nodiscard]] std::vector<ArgumentReport> other_options(const Scene& scene, EventPair at);

}  // namespace ulpscope::comparison
