#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compare/report/checks/nesting.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What a training step read that no computation of a training made.
struct Batch {
  std::int64_t step = 0;
  std::uint64_t content = 0;            ///< equal for equal values; 0 if nothing could be read
  std::optional<std::int64_t> samples;  ///< first dimension of the first value
};

/// Collects the batches of a rank's training: what forwards in grad mode read, if a backward pass
/// or an optimizer's step followed. Data that is only evaluated is not a batch.
class BatchCollector {
 public:
  /// Blocks of a lane in their order.
  void see(const Lane& lane, const Block& block);

  /// By step.
  [[nodiscard]] std::vector<Batch> take() const;

 private:
  struct Stretch {
    std::uint64_t first_position;
    Phase phase;
  };
  struct LaneState {
    Nesting nesting;
    std::vector<Stretch> stretches;
  };
  struct Step {
    std::set<std::uint64_t> values;
    std::optional<std::int64_t> samples;
    bool trains = false;
  };

  [[nodiscard]] bool comes_from_outside(const Slot& slot, std::uint32_t lane) const;
  void read(const Event& event, std::uint32_t lane, Step& step) const;

  std::map<std::uint32_t, LaneState> lanes_;
  std::map<std::int64_t, Step> open_;  ///< the steps of the current block in each lane
};

}  // namespace ulpscope::comparison
