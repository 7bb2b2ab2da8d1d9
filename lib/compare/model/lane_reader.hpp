#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compare/model/layers_view.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Reads one lane of one run from its first block to its last, one block ahead. Kernels are left
/// out: they show how an op was computed, not what (kernels.hpp). So is what recording did itself
/// (injected.hpp).
class LaneReader {
 public:
  /// `only_layers`: leaves out what is not recorded with layers only.
  LaneReader(const Run& run, std::uint32_t rank, std::uint32_t lane, bool only_layers);

  [[nodiscard]] std::uint32_t lane() const noexcept { return lane_; }

  /// The step of the next unread block; empty at the end of the lane.
  [[nodiscard]] std::optional<std::int64_t> step() const noexcept;

  /// Where the next unread block begins; kNone at the end of the lane.
  [[nodiscard]] std::uint64_t position() const noexcept;

  /// How many steps are left to read; empty if it is not known where the run ended.
  [[nodiscard]] std::optional<std::uint64_t> steps_left() const;

  /// The events of the next unread block; they stay unread.
  [[nodiscard]] std::vector<HeldEvent> peek() const;

  /// Appends the events of unread blocks of `step` until `events` holds `limit` or the step ends.
  void read(std::int64_t step, std::size_t limit, std::vector<HeldEvent>& events);

  /// Appends the first events of the next unread block, which has at least as many.
  void read_first(std::size_t count, std::vector<HeldEvent>& events);

  /// Skips the rest of `step` and returns how many events that was.
  std::uint64_t skip(std::int64_t step);

  /// Skips what prepares the forward of the next unread block, if it holds one.
  void skip_preparation();

 private:
  void fetch();
  void drop_first(std::size_t count);
  [[nodiscard]] HeldEvent held(const Event& event);

  const Run* run_;
  std::uint32_t rank_;
  std::uint32_t lane_;
  std::size_t next_ = 0;
  std::size_t blocks_ = 0;
  std::optional<LayersView> layers_;
  std::shared_ptr<const Block> ahead_;
  std::int64_t step_ = kSetup;           ///< of the events that were read last
  std::uint64_t after_forward_ = kNone;  ///< HeldEvent::after_forward of the last of them
};

/// Position of an event in a run, if a slot's writer or a node's forward op names one.
struct EventPlace {
  std::uint32_t lane = 0;
  std::uint64_t position = kNone;
};

/// Bisects a lane for the block that spans an event's position.
[[nodiscard]] std::optional<std::size_t> find_block(const Run& run, std::uint32_t rank,
                                                    EventPlace place);

/// Looks an event up by bisecting its lane's blocks; empty block pointer if the run has no such
/// event. Meant for the few events that a report names.
[[nodiscard]] HeldEvent find_event(const Run& run, std::uint32_t rank, EventPlace place);

}  // namespace ulpscope::comparison
