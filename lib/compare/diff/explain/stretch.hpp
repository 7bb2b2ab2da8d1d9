#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compare/align/lane_walk.hpp"
#include "compare/diff/explain/updates_in_lists.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// Forward ops that both runs have and compute through different ops, and for which one run's
/// backward has ops that the other one's lacks, by their numbers. The same for a whole window.
class ReplacedBackwards {
 public:
  [[nodiscard]] const std::set<std::uint64_t>& numbers(const RankState& state, const LaneWalk& walk,
                                                       const Scene& scene);

 private:
  std::uint64_t generation_ = 0;
  std::size_t known_ = 0;  ///< forward ops that are computed differently
  std::set<std::uint64_t> numbers_;
};

/// The events without a partner between two partners, in order.
struct Stretch {
  /// From the walk's current entry up to `end_entry`.
  Stretch(RankState& rank_state, const LaneWalk& lane_walk, const Scene& lane_scene,
          std::size_t end_entry, ReplacedBackwards& replaced_backwards,
          UpdatesInLists& updates_in_lists);

  struct Alone {
    Side side;
    const Window& window;
    std::uint32_t index;
  };

  RankState& state;
  const LaneWalk& walk;
  const Scene& scene;
  std::size_t end;
  ReplacedBackwards& replaced;
  UpdatesInLists& in_lists;
  std::vector<Alone> all;
  std::vector<Alone> units;  ///< ops, or calls of modules; but those that are ignored
};

/// Of a stretch of one run that begins with ops that only look (as a validation pass does): those,
/// and what else in it reads nothing but their results and those of both runs, writes no memory
/// that was there before, and draws nothing. Empty if it does not begin so or has no other ops.
[[nodiscard]] std::vector<Stretch::Alone> part_that_looks(const Stretch& stretch);

/// What a finding says of a stretch.
struct StretchContents {
  EventPair first;
  Both<std::size_t> casts{};
  Both<std::vector<std::string>> ops;
  Both<std::vector<std::string>> names;      ///< of tensors that they touch
  Both<std::vector<std::uint64_t>> written;  ///< storages of tensors without a name that they write
  Both<std::vector<std::string>> updated;    ///< parameters, before it computes anything else
  Both<std::vector<std::string>>
      unwritten;  ///< what they read and no op wrote: its name, else its storage
  bool draws = false;
  bool compute_nothing = true;  ///< their results are memory they were given, or that no op wrote
};
[[nodiscard]] StretchContents contents_of(const Stretch& stretch);

/// Why one run alone has the ops of a stretch.
struct StretchReason {
  Source source;
  bool computed_otherwise = false;  ///< they compute what ops of the other run compute
  bool has_effect = false;          ///< what reads their results will show whether it has one
};
/// Empty if they follow from nothing that is known: then they are a finding.
[[nodiscard]] std::optional<StretchReason> explain_stretch(const Stretch& stretch);

/// Why what a stretch reads differs, where that is known; with `flags`, of values that have one.
[[nodiscard]] std::optional<Source> differs_already(const Stretch& stretch,
                                                    std::uint32_t flags = 0);

/// Why the backward of a forward op differs: one run alone has the op or what called it, detaches
/// its result, or gave it other arguments.
[[nodiscard]] std::optional<Source> why_of_backward(const Ledger& ledger, Side side,
                                                    EventPlace forward);

/// The parameter whose gradient an op accumulates; empty if that has no name.
[[nodiscard]] std::string_view accumulated_parameter(const Window& window, std::uint32_t op);

/// Why one run alone trains what the stretch does, if it goes on with what ops of that run alone
/// have begun in an earlier step: an optimizer that leaves out a parameter keeps no state for it
/// either, and does not zero its gradient.
[[nodiscard]] std::optional<Source> trains_alone(const Stretch& stretch);

/// Keeps what made the tensor that an op of one run alone detaches: no gradient reaches that.
void note_detached(RankState& state, const LaneWalk& walk, const Scene& scene, Side side,
                   std::uint32_t event, const Source& source);

}  // namespace ulpscope::comparison
