#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "compare/align/lane_walk.hpp"
#include "compare/diff/boundary_judge.hpp"
#include "compare/diff/layers/layer_judge.hpp"
#include "compare/diff/lone_stretches.hpp"
#include "compare/diff/neighbours.hpp"
#include "compare/diff/op_judge.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/sequence_watch.hpp"

namespace ulpscope::comparison {

/// Requires that everything up to `position` of a lane of `side` is compared first, because
/// something that is about to be compared reads what was written there.
using Ensure = std::function<void(Side, std::uint32_t lane, std::uint64_t position)>;

/// Says that the same input of the same op was written at these places, and whether it holds the
/// same.
using Join = std::function<void(EventPlace reference, EventPlace candidate, bool same)>;

/// Compares one lane of both runs, step by step, entry by entry. Either run may lack the lane: the
/// other's entries there have no partner.
class LaneComparison {
 public:
  /// `join` may be empty: no lane shares its work among threads.
  LaneComparison(RankState& state, const Both<std::optional<Lane>>& lanes, Join join);

  [[nodiscard]] LaneWalk& walk() noexcept { return walk_; }
  [[nodiscard]] const LaneWalk& walk() const noexcept { return walk_; }

  void begin_steps(const StepsToCompare& steps, ForwardId forward);
  /// The next entry is of an optimizer, or shows what it has left.
  [[nodiscard]] bool comes_to_update() const;
  /// Compares the next entry; false when the step is done with.
  bool advance(const Ensure& ensure);
  void end_step();
  /// An entry is being compared: calls that lead back here must not enter it again.
  [[nodiscard]] bool busy() const noexcept { return busy_; }

  /// Enters the finding that `side` has steps that the other run lacks, at the first op of the
  /// first of them. False if the lane has no op there.
  bool report_missing_steps(Side side, std::int64_t step, std::int64_t candidate_step);

 private:
  void ensure_inputs(const Entry& entry, const Ensure& ensure) const;
  [[nodiscard]] AloneMemory::Partner partner_of(const Entry& entry, const Scene& scene,
                                                EventPair at) const;
  void compare_partners(const Scene& scene, EventPair at, bool op);
  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at, bool op);
  void count_accumulations(const Scene& scene, EventPair at);

  void note_loss(const Scene& scene, EventPair node);
  void note_path(const Scene& scene, EventPair at);
  void add_history(const Event& event, std::uint64_t occurrence, std::size_t new_records);

  RankState& state_;
  LaneWalk walk_;
  OpJudge judge_;
  BoundaryJudge boundaries_;
  LayerJudge layers_;
  Neighbours neighbours_;
  SequenceWatch watch_;
  LoneStretches lone_;
  Join join_;
  bool busy_ = false;
  bool loss_noted_ = false;                     ///< the step's first backward node has passed
  std::optional<std::uint64_t> last_position_;  ///< of the last partner in the reference lane
  std::uint64_t generation_ = 0;
};

}  // namespace ulpscope::comparison
