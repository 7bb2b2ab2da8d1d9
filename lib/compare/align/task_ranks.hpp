#pragma once

#include <cstdint>
#include <set>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Processes of pools.
struct TaskRanks {
  Both<std::set<std::uint32_t>> all;
  /// Which of them does which task depends on time, so that none has a partner. Empty where each
  /// run has only one that computes: it does its tasks in their order.
  Both<std::set<std::uint32_t>> shared;
};

[[nodiscard]] TaskRanks task_ranks(const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
