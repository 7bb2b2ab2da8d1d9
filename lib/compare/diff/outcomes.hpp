#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/diff/moved_generators.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/saved_files.hpp"
#include "compare/model/content.hpp"

namespace ulpscope::comparison {

/// Compares what both runs of a rank leave: parameters, buffers and other live memory when they
/// end, the states of generators and the hyperparameters of optimizers. Independent of how ops were
/// aligned: equal contents are partners, those under one name first, then parameters and buffers by
/// their names. Says which finding has changed an outcome, and finds what changed after the last
/// op.
///
/// Everything else has been compared before. Memory that only one run holds is not a difference if
/// ops that both runs have made it, because it was equal then; or if ops that both runs have read
/// it since, because their results were compared; or if any op has and it was gone when the run
/// ended. Otherwise the run leaves something that the other one does not, if the memory outlived
/// the op that made it; if that was the last op, this is unknown.
class OutcomeJudge {
 public:
  explicit OutcomeJudge(RankState& state) : state_(state) {}

  void judge();

 private:
  struct Outcome {
    HeldEvent event;
    const Slot* slot = nullptr;
    Lane lane;
    bool stands = false;    ///< it was live when the run ended
    bool outlived = false;  ///< it was live when a later op ran, or when the run ended
    bool alone = false;     ///< ops that only this run has made it
  };
  using Outcomes = std::vector<Outcome>;
  /// A tensor that the program saves.
  struct Save {
    Content content;
    Lane lane;
    std::uint64_t position = kNone;
  };
  /// What holds memory from step to step, where it is known.
  enum class KeptBy : std::uint8_t { other, optimizer, parameter };

  [[nodiscard]] static KeptBy kept_by(const Outcome& outcome) noexcept;
  void read(Side side);
  void read(Side side, const Lane& lane);
  void keep(Side side, const Slot& slot);
  void put_explained_last(Side side);
  template <class Key>
  void cancel_equal(Key key);
  void pair_named();
  void drop_inherited();
  void count_exchanged();
  [[nodiscard]] bool held_otherwise(Side side, const Outcome& outcome) const;
  void judge_shorter(Side side);
  void judge_rest(Side side);
  [[nodiscard]] bool is_from_before(Side side, const Outcome& outcome);
  void count_extra(Side side, const Outcome& outcome);
  [[nodiscard]] bool leaves_copy_like(Side side, const Slot& copy) const;
  void judge_copy(Side side, const Outcome& outcome);
  void judge_made_alone(Side side, const Outcome& outcome);
  void blame_for_more(Side side, const Source& source, const Slot& left);
  void judge_changed_alone(Side side);
  void judge_adopted(Side side);
  void judge_reset_gradients(Side side);
  void judge_dropped_state(Side side);
  void judge_saved_alone(Side side);
  void judge_generators();
  void judge_noted();
  [[nodiscard]] std::vector<MovedGenerator> own_generators(const Noted& noted) const;
  [[nodiscard]] Noted noted() const;
  void blame_for_file(Side side, const Source& source);
  void judge_noted_generators(const Noted& noted);
  void judge_left_options(const Noted& noted);
  void judge_saved_files(const Noted& noted);
  void enter_at_save(const Both<std::optional<std::int64_t>>& steps,
                     std::vector<ArgumentReport> reports);
  void judge_last_files(const Noted& noted);
  [[nodiscard]] std::vector<Save> saves_of_main(Side side) const;
  [[nodiscard]] static std::vector<Save> saves_of(const LastFile& file,
                                                  const std::vector<Save>& all);
  [[nodiscard]] Outcome saved(Side side, const Save& save) const;
  void blame(const Source& source, const std::function<void(Record&)>& tell = {});
  [[nodiscard]] const Outcome* partner_of(Side side, const Outcome& outcome);
  [[nodiscard]] std::optional<Source> reason(Side side, const Outcome& outcome);
  void differ(const Outcome& reference, const Outcome& candidate);
  void enter(
      FindingKind kind, const Outcome& reference, const Outcome& candidate,
      const std::function<void(Finding&)>& describe = [](Finding&) {});
  /// The first op of the main thread that saves a tensor in a step.
  [[nodiscard]] std::optional<Outcome> first_save(Side side, std::int64_t step) const;
  void enter_at_ends(
      FindingKind kind, const std::function<void(Finding&)>& describe = [](Finding&) {});

  RankState& state_;
  Both<Outcomes> left_;
  Both<std::set<Content>> contents_;
  Both<std::set<Content>> unfilled_contents_;  ///< of memory that no recorded op has filled
  Both<std::set<std::uint64_t>> storages_;
  /// Storages that were there before the steps that are compared, where those are shifted.
  Both<std::optional<std::set<std::uint64_t>>> storages_before_;
  Both<std::set<std::string, std::less<>>> standing_;  ///< names of parameters and buffers
  std::vector<std::pair<Outcome, Outcome>> unexplained_;
  Both<HeldEvent> ends_;
  Both<Lane> end_lanes_;
};

}  // namespace ulpscope::comparison
