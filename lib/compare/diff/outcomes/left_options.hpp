#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

struct LeftOptions {
  std::vector<ArgumentReport> reports;
  /// From which on each save of them differs; empty where they were not saved.
  std::optional<std::int64_t> step = {};
};

/// Hyperparameters that two ranks set otherwise after the last step of an optimizer, as they save
/// it last or as it stands at the end of both. Noted are its class (`saved.optimizer.N` and
/// `end.optimizer.N`) and what has changed (`end.optimizer.N.lr`, "0.1 -> 0.01"; empty: nothing any
/// more). Those that differed already in its last step made no difference.
///
/// N is the same in each run for optimizers that the main thread was the first to use. Those of
/// other threads have a `t` before a number that only tells them apart: they are compared as a set,
/// if as many are noted in both. `t` alone: there were more.
[[nodiscard]] LeftOptions left_options(const std::vector<EnvironmentEntry>& reference,
                                       const std::vector<EnvironmentEntry>& candidate);

}  // namespace ulpscope::comparison
