#pragma once

#include <cstdint>

#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Compares what the processes of pools did as a set, whichever of them did it when, and adds that
/// to the totals. @return how many of their events have no equal in the other run.
[[nodiscard]] std::uint64_t compare_shared_tasks(const Both<const Run*>& runs, Totals& totals);

}  // namespace ulpscope::comparison
