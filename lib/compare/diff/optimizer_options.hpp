#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/model/scene.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// The step of an optimizer that an event is, or is inside of; kNoIndex if there is none.
[[nodiscard]] std::uint32_t optimizer_around(const Window& window, std::uint32_t index);

/// The same in both runs. Of an event that only one run has, the partner is the optimizer of that
/// class whose step is the same one of the window.
[[nodiscard]] EventPair steps_around(const Scene& scene, EventPair at);

/// The name under which an optimizer says how many tensors it trains, a number for each group.
inline constexpr std::string_view kParams = "params";

/// Hyperparameters that differ, of the optimizer that an event is inside of; none outside of
/// optimizers.
[[nodiscard]] std::vector<ArgumentReport> other_options(const Scene& scene, EventPair at);

/// What identifies such differences, wherever they show.
class OptionKeys {
 public:
  /// Of one optimizer, the same in all steps: a schedule gives other values in each. Of several
  /// that are given the same two values the same.
  [[nodiscard]] std::uint64_t of(const Scene& scene, EventPair at,
                                 const std::vector<ArgumentReport>& options);

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> known_;  ///< by optimizer and names
};

}  // namespace ulpscope::comparison
