#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compare/align/aligned_windows.hpp"
#include "compare/align/window_alignment.hpp"
#include "compare/align/window_cut.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// The steps that are compared as one: mostly one of each run, whose numbers may differ.
struct StepsToCompare {
  Both<std::int64_t> first;
  Both<std::int64_t> last;
  std::optional<Side> only;  ///< the other run has no such steps

  [[nodiscard]] bool are_several() const {
    return first.reference != last.reference || first.candidate != last.candidate;
  }
  [[nodiscard]] static StepsToCompare one(std::int64_t reference, std::int64_t candidate,
                                          std::optional<Side> only = {}) {
    return {{reference, candidate}, {reference, candidate}, only};
  }
};

/// Walks one lane of both runs through one step after another, aligned entry by entry. A long step
/// is read and aligned piece by piece. Either run may lack the lane.
class LaneWalk {
 public:
  LaneWalk(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
           const Both<std::optional<Lane>>& lanes, bool only_layers, const StoragePairs& storages,
           const WindowLimits& limits = {});

  /// The step of each side's next unread events.
  [[nodiscard]] Both<std::optional<std::int64_t>> next_steps() const;
  /// Passes over a step on one side and returns its number of events.
  std::uint64_t skip(Side side, std::int64_t step);
  /// Skips what prepares the forward of one run's next step.
  void skip_preparation(Side side);

  /// Aligns the lane's events in the steps, of which both runs have at least one or only one run
  /// has any: nothing of the other one is read then.
  void begin(const StepsToCompare& steps, ForwardId forward);
  /// Shows the next unread events of only `side`, as entries without a partner. They stay unread.
  void preview(Side side, std::int64_t step, std::int64_t candidate_step);
  [[nodiscard]] bool at_end() const noexcept { return cursor_ >= committed_; }
  void next();

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return windows_.entries(); }
  [[nodiscard]] std::size_t cursor() const noexcept { return cursor_; }
  [[nodiscard]] const Entry& current() const { return entries()[cursor_]; }
  /// One past the last entry that the present windows settle.
  [[nodiscard]] std::size_t committed() const noexcept { return committed_; }
  /// Changes whenever windows are read: events and entries of before are gone then.
  [[nodiscard]] std::uint64_t generation() const noexcept { return windows_.generation(); }
  /// The lane of `side` holds nothing after the present windows, in this step and later ones.
  [[nodiscard]] bool ends_here(Side side) const;

  [[nodiscard]] Scene scene() const;
  [[nodiscard]] EventPair events_of(const Entry& entry) const { return windows_.events_of(entry); }

  /// True once the cursor has passed everything of `side` up to `position`.
  [[nodiscard]] bool has_passed(Side side, std::uint64_t position) const;
  /// A number for the partners that the event at `position` belongs to, the same on both sides; 0
  /// if it has no partner in the present windows.
  [[nodiscard]] std::uint64_t partner_number(Side side, std::uint64_t position) const {
    return windows_.partner_number(side, position);
  }

  [[nodiscard]] const std::optional<LaneReader>& reader(Side side) const {
    return on(readers_, side);
  }
  [[nodiscard]] const std::optional<Lane>& lane(Side side) const { return on(course_.lanes, side); }
  /// What aligning took since the last call.
  struct Effort {
    std::uint64_t given_up = 0;  ///< items in stretches too different to be searched
    std::uint64_t operations = 0;
  };
  [[nodiscard]] Effort take_effort() noexcept { return std::exchange(effort_, {}); }

 private:
  void load();
  void read_windows();
  std::uint64_t align_windows();
  [[nodiscard]] bool read_over_border();
  [[nodiscard]] std::optional<Side> side_with_more() const;
  void cut();
  [[nodiscard]] bool is_over(Side side) const;
  [[nodiscard]] Both<std::int64_t> current_steps() const;
  void give_up();
  /// The first item of each side after the entries that are settled.
  [[nodiscard]] Both<std::uint32_t> first_unsettled() const;

  /// What is walked.
  struct Course {
    Both<const Run*> runs;
    Both<std::uint32_t> ranks;
    Both<std::optional<Lane>> lanes;
  };
  /// The last of the steps that are walked.
  [[nodiscard]] std::int64_t last_step(Side side) const { return on(steps_.last, side); }

  Course course_;
  const StoragePairs& storages_;
  WindowLimits limits_;
  Both<std::optional<LaneReader>> readers_;
  StepsToCompare steps_;
  ForwardId forward_;
  Both<std::vector<HeldEvent>> waiting_;
  AlignedWindows windows_;
  std::size_t cursor_ = 0;
  std::size_t committed_ = 0;
  std::size_t window_events_ = 0;
  Effort effort_;
  bool more_ = false;
  bool reads_over_border_ = false;  ///< of the next step, too
  bool looked_ahead_ = false;       ///< for nothing, in this step
};

}  // namespace ulpscope::comparison
