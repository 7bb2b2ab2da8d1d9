#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compare/diff/outcomes/saved_files.hpp"
#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

struct RankState;
struct Scene;
struct EventPair;

/// Optimizers that the runs leave with other hyperparameters, though no value shows it: after one
/// step with or without dampening, say. Numbers count as far as float32 tells them apart, in
/// whatever order of groups.
class LastOptions {
 public:
  /// A run steps an optimizer, or has it reset gradients.
  void used(Side side, const Lane& lane, const Event& event);
  /// Both runs make this step of an optimizer.
  void passed(RankState& state, const Scene& scene, EventPair step);

  /// Blames what the last step of each optimizer was given, where both runs leave it: one of Python
  /// stands when recording ends, or was saved.
  void blame(RankState& state, const Noted& noted) const;

 private:
  struct Last {
    std::uint64_t candidate = 0;  ///< the optimizer's number there
    Source source;
  };
  [[nodiscard]] bool is_left(Side side, const std::vector<EnvironmentEntry>& noted,
                             std::uint64_t optimizer) const;

  std::map<std::uint64_t, Last> differ_;   ///< by the optimizer's number in the reference
  Both<std::vector<std::uint64_t>> used_;  ///< by the main thread, in the order of first use
};

}  // namespace ulpscope::comparison
