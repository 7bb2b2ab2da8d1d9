#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compare/model/scene.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// Of the last step of an optimizer in each lane: the hyperparameters that differ.
class OptimizerOptions {
 public:
  /// An event that both runs have is passed.
  void passed(const Scene& scene, EventPair at);
  /// Of the optimizer that an event is inside of; none outside of optimizers.
  [[nodiscard]] std::vector<ArgumentReport> around(const Scene& scene, EventPair at) const;

 private:
  struct Last {
    std::uint64_t position = kNone;  ///< in the reference
    std::vector<ArgumentReport> differing;
  };
  Both<std::map<std::uint32_t, Last>> last_;  ///< by lane
};

}  // namespace ulpscope::comparison
