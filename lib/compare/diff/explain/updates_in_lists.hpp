#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "compare/diff/rank_state.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// Steps of optimizers that both runs make with the same hyperparameters, and in which one of them
/// alone updates lists of parameters: by `torch._foreach_*` or in one op for all, `torch._fused_*`,
/// as torch.optim does by default on a GPU. The ops differ, what they compute does not.
class UpdatesInLists {
 public:
  /// Of an op that only `side` has: why what is updated in its step differs already. Empty if it is
  /// not in such a step, or nothing that the step reads is known to differ.
  [[nodiscard]] std::optional<Source> reason(RankState& state, const Scene& scene, Side side,
                                             std::uint32_t op);

 private:
  std::uint64_t generation_ = 0;
  std::map<std::pair<Side, std::uint32_t>, std::optional<Source>> of_steps_;  ///< by their event
};

}  // namespace ulpscope::comparison
