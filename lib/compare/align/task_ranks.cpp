#include "compare/align/task_ranks.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::comparison {
namespace {

/// Empty if the rank has none of that key.
[[nodiscard]] std::string setting_of(const Run& run, std::uint32_t rank, std::string_view key) {
  for (const EnvironmentEntry& setting : run.environment(rank))
    if (setting.key == key) return setting.value;
  return {};
}

[[nodiscard]] bool is_given_tasks(const Run& run, std::uint32_t rank) {
  return run.identity(rank).declared.empty() && !setting_of(run, rank, "process.tasks").empty();
}

/// PyTorch gives the main thread of such a process this name.
[[nodiscard]] bool loads_data(const Run& run, std::uint32_t rank) {
  const RankIdentity identity = run.identity(rank);
  const std::vector<Lane> lanes = run.lanes(rank);
  return identity.creator && identity.declared.empty() &&
         std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) {
           return lane.role == LaneRole::main && lane.thread_name.starts_with("pt_data_worker");
         });
}

/// "0 of 2"; empty if it is not known which of how many workers of its loader it is.
[[nodiscard]] std::string number_among_workers(const Run& run, std::uint32_t rank) {
  return setting_of(run, rank, "process.loads");
}

/// The workers of all loaders, one loader after the other.
[[nodiscard]] bool are_the_same(const Run& reference, const std::set<std::uint32_t>& ranks,
                                const Run& candidate, const std::set<std::uint32_t>& others) {
  return std::equal(ranks.begin(), ranks.end(), others.begin(), others.end(),
                    [&](std::uint32_t rank, std::uint32_t other) {
                      return number_among_workers(reference, rank) ==
                             number_among_workers(candidate, other);
                    });
}

}  // namespace

std::set<std::uint32_t> TaskRanks::without_partner(Side side) const {
  std::set<std::uint32_t> ranks = on(shared, side);
  ranks.insert(on(loaders, side).begin(), on(loaders, side).end());
  return ranks;
}

TaskRanks task_ranks(const Both<const Run*>& runs) {
  TaskRanks ranks;
  for (const Side side : kSides)
    for (const std::uint32_t rank : on(runs, side)->ranks()) {
      if (is_given_tasks(*on(runs, side), rank)) on(ranks.all, side).insert(rank);
      if (loads_data(*on(runs, side), rank)) on(ranks.loaders, side).insert(rank);
    }
  if (ranks.all.reference.size() != 1 || ranks.all.candidate.size() != 1) ranks.shared = ranks.all;
  if (are_the_same(*runs.reference, ranks.loaders.reference, *runs.candidate,
                   ranks.loaders.candidate))
    ranks.loaders = {};
  return ranks;
}

}  // namespace ulpscope::comparison
