#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/exchanged_tensors.hpp"
#include "compare/diff/judgement.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/scene.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::comparison {

/// What explainers remember of the ops of one lane.
struct LaneMemory {
  std::optional<Source> last_source;  ///< of the last op that differs
  std::int64_t last_step = kSetup;    ///< in which that was
  std::optional<Source> other_model;  ///< one run calls a different model of the same kind
  /// The program acts on numbers that differ already: they determine arguments, and its data.
  std::optional<Source> numbers;
  ExchangedTensorFinder exchanged;
  std::set<Digest> accounted;  ///< results inside of an op that were judged or counted
};

/// The runs take other elements of some memory, or the same ones differently.
[[nodiscard]] bool is_other_part(const SlotPair& slot);

/// One op (or another event that holds values) that both runs have, what is known of it, and what
/// explainers have found out so far.
struct OpPair {
  OpPair(RankState& rank_state, LaneMemory& lane_memory) : state(rank_state), lane(lane_memory) {}

  RankState& state;
  LaneMemory& lane;

  Scene scene;
  EventPair at;
  std::vector<SlotPair> slots;
  ArgumentDifferences arguments;
  InsideComparison inside;
  std::vector<EventPair> inside_differing;  ///< pairs that leave something unequal
  std::vector<SlotPair> inner_slots;        ///< of the pair inside that was looked at last

  std::optional<Source> why;  ///< its result differs, or its values do that it passes on
  bool inputs_differ = false;
  bool generator_differs = false;
  bool looked_at = false;                  ///< what differs is viewed, not read
  std::vector<const Event*> uneven_draws;  ///< drew from equal states, but not as much
  Judgement judgement;

  /// Compares the values and arguments of the events at `new_at`; forgets the pair before.
  void begin(const Scene& new_scene, EventPair new_at);
  /// Compares what both ops call.
  void compare_inside();

  [[nodiscard]] const Event& event(Side side) const;

  /// The runs diverge here.
  void found(const Source& source);
  /// It differs because of `source`, which has an effect therefore.
  void propagated(const Source& source);
  /// The memory of these slots, in the runs that have them, differs because of `source`.
  void differ(const Slot* reference, const Slot* candidate, const Source& source);

  /// Why a value differs, if that is known about its memory in either run. Both runs' reasons
  /// diverge.
  [[nodiscard]] std::optional<Source> known_difference(const SlotPair& slot);
  /// The same, without a claim that anything diverges for that reason.
  [[nodiscard]] std::optional<Source> reason_of(const SlotPair& slot);
  /// Why it is a view of other elements, if it is and an op before has picked them.
  [[nodiscard]] std::optional<Source> reason_of_part(const SlotPair& slot) const;
  /// From the bytes, where both dumps hold them.
  [[nodiscard]] std::optional<Difference> difference_of(const SlotPair& slot) const;

  /// Code that prepares data or the program itself: it does the same to many things in a row.
  [[nodiscard]] bool in_data_code() const;
  /// Why integers that the program has drawn differ, such as the order of its samples, where the op
  /// is of code that may go by them: no op reads an order.
  [[nodiscard]] std::optional<Source> drawn_order() const;
  /// The program's own code, which does the same to many things in a row: batches, metrics,
  /// averages of parameters, steps of an environment.
  [[nodiscard]] bool between_models() const;

 private:
  void set_unused_memory_aside();
  void judge_partly_filled();
  void compare_layouts();
  void note_computed_otherwise();
  void add_inside_writes(const std::vector<SlotPair>& inner);
  void make_diverging(const Source& source);
  [[nodiscard]] bool reads_only_indices() const;
};

}  // namespace ulpscope::comparison
