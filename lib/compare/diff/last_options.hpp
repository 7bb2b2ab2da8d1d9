#pragma once

#include <cstdint>
#include <map>

#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

struct RankState;
struct Scene;
struct EventPair;

/// Optimizers that the runs leave with other hyperparameters, though no value shows it: after one
/// step with or without dampening, say. What says how an update is computed, not which one, leaves
/// nothing, nor does what only one run's version of the optimizer has.
class LastOptions {
 public:
  /// Both runs make this step of an optimizer.
  void passed(RankState& state, const Scene& scene, EventPair step);

  /// Blames what the last step of each optimizer was given.
  void blame(RankState& state) const;

 private:
  std::map<std::uint64_t, Source> differ_;  ///< by the optimizer's number in the reference
};

}  // namespace ulpscope::comparison
