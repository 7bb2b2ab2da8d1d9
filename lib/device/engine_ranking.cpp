#include "device/engine_ranking.hpp"

#include <algorithm>
#include <tuple>

namespace ulpscope::device {
namespace {

[[nodiscard]] bool is_deterministic(const EngineTrial& trial) noexcept {
  return trial.noted_deterministic && repeats_agree(trial);
}

}  // namespace

bool repeats_agree(const EngineTrial& trial) noexcept {
  return std::ranges::all_of(trial.repeats,
                             [&](const Digest& repeat) { return repeat == trial.repeats.front(); });
}

UsedEngine used_engine(std::span<const EngineTrial> trials, const Digest& result, std::size_t run) {
  UsedEngine used;
  if (trials.empty()) return used;

  std::vector<const EngineTrial*> equal;
  for (const EngineTrial& trial : trials)
    if (std::ranges::find(trial.repeats, result) != trial.repeats.end()) equal.push_back(&trial);
  if (!equal.empty()) {
    std::ranges::sort(equal, {}, [](const EngineTrial* trial) {
      return std::tuple(!is_deterministic(*trial), trial->engine);
    });
    used.match = EngineMatch::bits;
    used.engine = equal.front()->engine;
    for (std::size_t i = 1; i < equal.size(); ++i) used.others.push_back(equal[i]->engine);
    return used;
  }
  used.match = EngineMatch::nearest;
  used.engine = std::ranges::min(trials, {}, [run](const EngineTrial& trial) {
                  const Difference& difference = trial.to_runs[run];
                  return std::tuple(difference.differing, difference.ulp_max, trial.engine);
                }).engine;
  return used;
}

}  // namespace ulpscope::device
