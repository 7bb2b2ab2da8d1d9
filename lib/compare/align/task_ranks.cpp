#include "compare/align/task_ranks.hpp"

#include <algorithm>
#include <vector>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_given_tasks(const Run& run, std::uint32_t rank) {
  if (!run.identity(rank).declared.empty()) return false;
  const std::vector<EnvironmentEntry> settings = run.environment(rank);
  return std::any_of(settings.begin(), settings.end(), [](const EnvironmentEntry& setting) {
    return setting.key == "process.tasks";
  });
}

}  // namespace

TaskRanks task_ranks(const Both<const Run*>& runs) {
  TaskRanks ranks;
  for (const Side side : kSides)
    for (const std::uint32_t rank : on(runs, side)->ranks())
      if (is_given_tasks(*on(runs, side), rank)) on(ranks.all, side).insert(rank);
  if (ranks.all.reference.size() != 1 || ranks.all.candidate.size() != 1) ranks.shared = ranks.all;
  return ranks;
}

}  // namespace ulpscope::comparison
