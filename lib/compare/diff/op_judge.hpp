#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/describe.hpp"
#include "compare/diff/exchanged_tensors.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/judgement.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/measure/budget/budget_judge.hpp"
#include "compare/measure/budget/replay_judge.hpp"

namespace ulpscope::comparison {

/// Decides about one op (or another event that holds values) that both runs have: are they equal,
/// do they diverge here and how, or did they diverge before.
class OpJudge {
 public:
  explicit OpJudge(RankState& state) : state_(state) {}

  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at);

  /// Compares the values of a scope that ops ran inside: they prove equality or a difference, but
  /// the op that diverged is one of those inside.
  [[nodiscard]] Judgement judge_scope(const Scene& scene, EventPair at);

  /// The program acts on numbers that differ already, because of `source`: they determine the
  /// arguments of what follows, and its data. Empty: no longer.
  void follow_numbers(std::optional<Source> source) noexcept { numbers_source_ = source; }

  /// An op that only `side` has: what it writes differs from now on, because of `source`.
  void write_alone(const Scene& scene, Side side, std::uint32_t event, const Source& source);
  /// The views that such an op takes are known to its readers.
  void view_alone(const Scene& scene, Side side, std::uint32_t event, const Source& source);

  /// An op of `side` that computes what different ops do in the other run: with error budgets it,
  /// or else what it calls, is compared with its own replay.
  /// @param after the last partner before it, as a position in the reference.
  void judge_alone(const Scene& scene, Side side, std::uint32_t event,
                   std::optional<std::uint64_t> after, std::size_t depth = 0);

 private:
  void begin(const Scene& scene, EventPair at);
  void judge_rng();
  void shift_streams();
  void judge_inputs();
  void judge_arguments();
  void judge_exchanged();
  void judge_settings();
  void enter_arguments(const std::vector<ArgumentReport>& reports, bool wrapped);
  [[nodiscard]] std::optional<Source> arguments_of_forward() const;
  void keep_argued(const Source& source);
  void judge_reshaped_inputs();
  void judge_told_values();
  void compare_layouts();
  [[nodiscard]] std::optional<Source> viewed_alone(const SlotPair& slot) const;
  void judge_outputs();
  void judge_inside();
  void note_placement();
  void spread();
  /// The memory of these slots, in the runs that have them, differs because of `source`.
  void taint(const Slot* reference, const Slot* candidate, const Source& source);
  [[nodiscard]] std::optional<Source> written_elsewhere(const SlotPair& slot);
  void spread_slot(const Slot* reference, const Slot* candidate, Match match);

  void judge_replays();
  std::size_t judge_replay(const std::vector<EventPair>& pairs, std::size_t k);
  [[nodiscard]] bool leaves_other(EventPair at);
  bool account_for(EventPair at);
  void enter_replay(EventPair at, const budget::ReplayJudged& replay);
  static void enter_own(Record& record, const budget::ReplayJudged& replay);
  [[nodiscard]] budget::ReplayJudged judge_own(EventPair at, const std::vector<SlotPair>& slots,
                                               budget::Judged& judged) const;
  [[nodiscard]] budget::Judged judge_budget(EventPair at, const std::vector<SlotPair>& slots) const;
  void add_budget(const Source& source, const budget::Judged& judged);

  void found(const Source& source);
  void propagated(const Source& source);
  void make_diverging(const Source& source);
  [[nodiscard]] bool reads_only_indices() const;

  [[nodiscard]] const Event& event(Side side) const;
  [[nodiscard]] std::optional<Source> known_difference(const SlotPair& slot);
  [[nodiscard]] std::optional<Source> taint_of(const SlotPair& slot);
  [[nodiscard]] std::optional<Source> differed_before(const SlotPair& slot) const;
  [[nodiscard]] bool in_data_code() const;
  [[nodiscard]] bool in_first_forward() const;
  [[nodiscard]] bool is_kept_otherwise(const SlotPair& slot) const;
  [[nodiscard]] std::optional<Source> differs_for_readers(const SlotPair& slot);
  [[nodiscard]] bool between_models() const;
  [[nodiscard]] bool only_reshapes() const;
  [[nodiscard]] bool is_list_of_other_length(std::uint16_t index) const;
  [[nodiscard]] bool gives_the_same() const;
  [[nodiscard]] bool is_update() const;
  void note_other_parameters();
  [[nodiscard]] bool derived(const ArgumentReport& argument) const;
  [[nodiscard]] bool is_computed_apart(const ArgumentReport& argument) const;
  [[nodiscard]] std::optional<Source> explained_by_sizes(
      const std::vector<ArgumentReport>& reports) const;
  [[nodiscard]] bool shares_generator(const Event& seeded) const;
  [[nodiscard]] static bool draws_integers(const Event& seeded);
  [[nodiscard]] bool was_changed(Side side, const Slot& slot) const;
  [[nodiscard]] bool may_follow(const SlotPair& slot) const;
  [[nodiscard]] FindingKind kind_of_fresh(const SlotPair& slot) const;
  void enter_each_kind(const std::vector<const SlotPair*>& fresh);
  void enter_others(const std::vector<const SlotPair*>& others,
                    const std::vector<ArgumentReport>& given);
  void enter_fresh(FindingKind kind, const std::vector<const SlotPair*>& fresh);
  void describe_fresh(Record& record, FindingKind kind, const SlotPair& slot) const;
  [[nodiscard]] bool is_made_apart(const SlotPair& slot) const;
  [[nodiscard]] std::optional<Difference> difference_of(const SlotPair& slot) const;
  [[nodiscard]] std::optional<Both<std::string>> numbers_of(const SlotPair& slot) const;
  [[nodiscard]] std::optional<ArgumentReport> wrapped_number(const SlotPair& slot) const;
  void compare_inside();
  void note_computed_otherwise();
  void add_inside_writes(const std::vector<SlotPair>& inner);

  /// What differences by rounding make, at most, of a number that code computes from them.
  static constexpr double kRounding = 1e-3;

  RankState& state_;
  Scene scene_;
  EventPair at_;
  Judgement judgement_;
  std::optional<Source> source_;       ///< why the result here differs
  std::optional<Source> last_source_;  ///< of the last op of the lane that differs
  bool inputs_differ_ = false;
  bool looked_at_ = false;      ///< what differs is viewed, not read
  std::set<Digest> accounted_;  ///< results inside of an op that were judged or counted
  bool rng_differs_ = false;
  std::optional<Source> other_model_;  ///< one run calls a different model of the same kind
  ExchangedTensorFinder exchanged_;
  std::optional<Source> numbers_source_;
  std::vector<const Event*> uneven_draws_;  ///< drew from equal states, but not as much
  std::vector<SlotPair> slots_;
  std::vector<SlotPair> inner_slots_;
  InsideComparison inside_;
  std::vector<EventPair> inside_differing_;  ///< pairs that leave something unequal
  ArgumentDifferences arguments_;
};

}  // namespace ulpscope::comparison
