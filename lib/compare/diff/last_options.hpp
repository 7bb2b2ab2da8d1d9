#pragma once

#include <cstdint>
#include <map>

#include "compare/diff/saved_files.hpp"
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
  /// Both runs make this step of an optimizer.
  void passed(RankState& state, const Scene& scene, EventPair step);

  /// Blames what the last step of each optimizer was given, where both runs leave it: one of Python
  /// stands when recording ends, or was saved.
  void blame(RankState& state, const Noted& noted) const;

 private:
  std::map<std::uint64_t, Source> differ_;  ///< by the optimizer's number in the reference
};

}  // namespace ulpscope::comparison
