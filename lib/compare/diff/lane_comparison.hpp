#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/align/lane_walk.hpp"
#include "compare/diff/boundary_judge.hpp"
#include "compare/diff/layer_judge.hpp"
#include "compare/diff/op_judge.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/sequence_watch.hpp"

namespace ulpscope::comparison {

/// Requires that everything up to `position` of a lane of `side` is compared first, because
/// something that is about to be compared reads what was written there.
using Ensure = std::function<void(Side, std::uint32_t lane, std::uint64_t position)>;

/// Says that the same input of the same op was written at these places.
using Join = std::function<void(EventPlace reference, EventPlace candidate)>;

/// Compares one lane of both runs, step by step, entry by entry. Either run may lack the lane: the
/// other's entries there have no partner.
class LaneComparison {
 public:
  /// `join` may be empty: no lane shares its work among threads.
  LaneComparison(RankState& state, const Both<std::optional<Lane>>& lanes, Join join);

  [[nodiscard]] LaneWalk& walk() noexcept { return walk_; }
  [[nodiscard]] const LaneWalk& walk() const noexcept { return walk_; }

  /// With `only` the other run has no such step.
  void begin_step(std::int64_t step, std::int64_t candidate_step, ForwardId forward,
                  std::optional<Side> only = {});
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
  void compare_partners(const Scene& scene, EventPair at, bool op);
  void leave_alone(const Scene& scene);
  void enter_stretch(const Scene& scene);
  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at, bool op);
  [[nodiscard]] bool is_unit(const Event& event) const;
  [[nodiscard]] std::size_t end_of_stretch() const;
  [[nodiscard]] bool cut_off(std::size_t end) const;
  [[nodiscard]] bool ignored(const Event& event) const;
  void count_accumulations(const Scene& scene, EventPair at);
  void count_alone(const Scene& scene, EventPair at, bool op);

  void pass_neighbour(const Scene& scene, EventPair at, Outcome outcome, std::size_t new_records);
  void note_loss(const Scene& scene, EventPair node);
  void note_path(const Scene& scene, EventPair at);
  void add_history(const Event& event, std::uint64_t occurrence, std::size_t new_records);

  /// The ops (or calls of modules) without a partner between two partners.
  struct Stretch {
    Both<std::size_t> casts{};
    EventPair first;
    Both<std::vector<std::string>> ops;
    Both<std::vector<std::string>> names;    ///< of tensors that they touch
    Both<std::vector<std::string>> updated;  ///< parameters, before anything else continues
    bool draws = false;
  };
  /// An event that only one run has.
  struct Alone {
    Side side;
    const Window& window;
    std::uint32_t index;
  };
  /// The items of the stretch without a partner, in order.
  [[nodiscard]] std::vector<Alone> alone(const Scene& scene) const;
  [[nodiscard]] Stretch stretch(const Scene& scene) const;
  [[nodiscard]] std::optional<Source> differs_already(const Scene& scene, std::uint32_t flags = 0);
  [[nodiscard]] bool only_copies(const Scene& scene) const;
  [[nodiscard]] bool stands_among_updates(const Scene& scene) const;
  void note_detached(const Scene& scene, Side side, std::uint32_t event);
  [[nodiscard]] std::optional<Source> cut_by_detach(const Scene& scene) const;
  [[nodiscard]] std::optional<Source> follows_alone(const Scene& scene);
  [[nodiscard]] std::optional<Source> of_op_computed_otherwise(const Scene& scene);
  [[nodiscard]] const std::set<std::uint64_t>& replaced_backwards(const Scene& scene);

  struct NeighbourWanted {
    std::size_t record = 0;
    std::size_t left = 0;
  };
  struct Passed {
    EventPair at;
    Outcome outcome = Outcome::equal;
  };

  RankState& state_;
  LaneWalk walk_;
  OpJudge judge_;
  BoundaryJudge boundaries_;
  LayerJudge layers_;
  SequenceWatch watch_;
  Join join_;
  bool busy_ = false;
  bool step_alone_ = false;      ///< one run has the step and the other one lacks it
  bool loss_noted_ = false;      ///< the step's first backward node has passed
  std::size_t alone_until_ = 0;  ///< entries up to here belong to a finding already
  Source alone_source_;
  struct Replaced {
    std::uint64_t generation = 0;
    std::size_t known = 0;  ///< forward ops that are computed differently
    std::set<std::uint64_t> numbers;
  };
  Replaced replaced_;
  bool alone_otherwise_ = false;                ///< they compute what ops of the other run compute
  std::optional<std::uint64_t> last_position_;  ///< of the last partner in the reference lane
  std::uint64_t generation_ = 0;
  std::deque<Passed> passed_;
  std::vector<NeighbourWanted> wanted_;
};

}  // namespace ulpscope::comparison
