#pragma once

#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// What neighbors, histories and stretches consist of: ops, or, if those are not recorded, calls of
/// modules and what optimizers and backward leave.
[[nodiscard]] bool is_unit(const RankState& state, const Event& event);

/// Named by `--ignore`.
[[nodiscard]] bool is_ignored(const RankState& state, const Event& event);

}  // namespace ulpscope::comparison
