#pragma once

#include <cstdint>

#include "compare/align/task_ranks.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What processes of pools did that has no equal in the other run.
struct UnequalTasks {
  std::uint64_t events = 0;
  std::uint64_t contents = 0;  ///< that they left in memory, and that no op shows
};

/// Compares what such processes did as a set, whichever of them did it when, and adds that to the
/// totals; of one that is the only one of its run what its tasks leave alone.
[[nodiscard]] UnequalTasks compare_shared_tasks(const Both<const Run*>& runs,
                                                const TaskRanks& ranks, Totals& totals);

}  // namespace ulpscope::comparison
