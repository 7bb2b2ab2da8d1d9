#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include "compare/align/lane_walk.hpp"
#include "compare/diff/explain/stretch.hpp"
#include "compare/diff/layers/layer_judge.hpp"
#include "compare/diff/neighbours.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/sequence_watch.hpp"

namespace ulpscope::comparison {

/// Entries of a lane that only one run has. Those in a row follow from something that is known, or
/// are one finding.
class LoneStretches {
 public:
  LoneStretches(RankState& state, LaneWalk& walk, Neighbours& neighbours, SequenceWatch& watch,
                LayerJudge& layers)
      : state_(state), walk_(walk), neighbours_(neighbours), watch_(watch), layers_(layers) {}

  /// `alone` if one run has the step and the other one lacks it.
  void begin_step(bool alone) noexcept {
    step_alone_ = alone;
    updated_.clear();
  }
  /// Entries of the walk have new numbers.
  void begin_window() noexcept { until_ = 0; }

  /// Both runs have this op.
  void passed(const Event& op);
  /// Takes the walk's current entry. `last_position` is that of the last partner in the reference.
  void leave(const Scene& scene, std::optional<std::uint64_t> last_position);

 private:
  [[nodiscard]] std::size_t end_of_stretch() const;
  [[nodiscard]] std::size_t end_of_backward(const Stretch& stretch) const;
  [[nodiscard]] bool cut_off(std::size_t end) const;
  [[nodiscard]] bool stands_among_updates(const Scene& scene) const;
  [[nodiscard]] bool updates_again(const Stretch& stretch) const;
  void count_alone(const Scene& scene, EventPair at, bool op);
  void note_node(const Scene& scene, Side side, std::uint32_t node);
  void note_update(Side side, const Window& window, std::uint32_t op);
  void note_gradient(const Scene& scene, Side side, std::uint32_t op);
  void take_stretch(const Scene& scene);
  void enter_parts(const Stretch& stretch);
  void enter_stretch(const Stretch& stretch, bool only_looks = false);
  [[nodiscard]] const Source& source_of(std::uint32_t op) const {
    return looks_.contains(op) ? looks_source_ : source_;
  }
  void note_reads(const Stretch& stretch);

  RankState& state_;
  LaneWalk& walk_;
  Neighbours& neighbours_;
  SequenceWatch& watch_;
  LayerJudge& layers_;
  bool step_alone_ = false;
  std::optional<std::uint64_t> last_position_;
  std::size_t until_ = 0;  ///< entries up to here belong to the stretch that was taken last
  Source source_;          ///< of that stretch
  std::unordered_set<std::uint32_t> looks_;  ///< ops of the stretch that are a finding of their own
  Source looks_source_;
  bool otherwise_ = false;  ///< its ops compute what ops of the other run compute
  std::unordered_set<std::uint64_t> updated_;  ///< parameters, by both runs since forward
  ReplacedBackwards replaced_;
  UpdatesInLists in_lists_;
};

}  // namespace ulpscope::comparison
