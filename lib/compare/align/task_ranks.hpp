#pragma once

#include <cstdint>
#include <set>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Processes that do what others give them.
struct TaskRanks {
  Both<std::set<std::uint32_t>> all;  ///< of pools
  /// Which of them does which task depends on time, so that none has a partner. Empty where each
  /// run has only one that computes: it does its tasks in their order.
  Both<std::set<std::uint32_t>> shared;
  /// Workers of DataLoaders. Empty where both runs have the same ones, one after the other: a
  /// batch's number then says which of them makes it. Else none has a partner.
  Both<std::set<std::uint32_t>> loaders;

  [[nodiscard]] std::set<std::uint32_t> without_partner(Side side) const;
};

[[nodiscard]] TaskRanks task_ranks(const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
