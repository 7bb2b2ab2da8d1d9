#pragma once

#include <cstdint>

#include "compare/align/task_ranks.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What leaves workers of DataLoaders past the batches that another process reads.
struct LoaderResults {
  bool saved = false;        ///< files
  std::uint64_t events = 0;  ///< without an equal, where the program reads numbers or arrays there
};

/// What such processes did that has no equal in the other run.
struct UnequalTasks {
  std::uint64_t events = 0;    ///< of pools
  std::uint64_t contents = 0;  ///< that those left in memory, and that no op shows
  LoaderResults of_loaders;
};

/// Compares what such processes did as a set, whichever of them did it when, and adds that to the
/// totals; of the only one of a pool in its run what its tasks leave alone. What workers of
/// DataLoaders make is counted alone: another process reads their batches.
[[nodiscard]] UnequalTasks compare_shared_tasks(const Both<const Run*>& runs,
                                                const TaskRanks& ranks, Totals& totals);

}  // namespace ulpscope::comparison
