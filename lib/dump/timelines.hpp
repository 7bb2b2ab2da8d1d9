#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dump/timeline.hpp"

namespace ulpscope::dump {

/// Steps and phases of all lanes of a rank while their events arrive.
///
/// A lane that trains has steps of its own: it runs forwards in grad mode, and then backward or an
/// optimizer; so has one that runs backward of its own ops, or an optimizer after a graph of
/// tensors that belong to no module. All other lanes follow the main one.
class Timelines {
 public:
  /// What a lane is as soon as it is opened.
  enum class Thread : std::uint8_t {
    main,
    of_program,  ///< it may turn out to train
    of_library,  ///< it works for others
  };
  void open(std::uint32_t lane, Thread thread);

  /// As the functions of Timeline.
  void add(std::uint32_t lane, TimelineEvent event);
  void advance(std::uint32_t lane);
  void close(std::uint32_t lane);
  void finish();
  [[nodiscard]] std::vector<Placement> take();
  [[nodiscard]] std::int64_t step_at(std::uint64_t epoch) const { return shared_.step_at(epoch); }
  [[nodiscard]] bool is_decided(std::uint64_t epoch) const noexcept {
    return shared_.is_decided(epoch);
  }
  /// The maximum that a lane has started.
  [[nodiscard]] std::uint64_t steps() const noexcept;
  /// Those that are this lane's: its own, or the ones that it follows.
  [[nodiscard]] std::uint64_t steps(std::uint32_t lane) const noexcept;

  /// The lane is not main and trains.
  [[nodiscard]] bool is_trainer(std::uint32_t lane) const;

  [[nodiscard]] std::vector<std::byte> save() const;
  [[nodiscard]] bool restore(std::span<const std::byte> saved);

 private:
  enum class Route : std::uint8_t { undecided, shared, own };
  struct Lane {
    Route route = Route::undecided;
    bool runs_forward = false;
    bool runs_without_root = false;
    std::vector<TimelineEvent> waiting;  ///< until its route is known
  };

  void decide(std::uint32_t id, Lane& lane, Route route);
  Timeline& timeline_of(std::uint32_t id, const Lane& lane) {
    return lane.route == Route::own ? own_[id] : shared_;
  }

  Timeline shared_;
  std::map<std::uint32_t, Timeline> own_;
  std::map<std::uint32_t, Lane> lanes_;
};

}  // namespace ulpscope::dump
