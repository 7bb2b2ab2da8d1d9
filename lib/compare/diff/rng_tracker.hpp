#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/diff/source.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Follows both runs' random streams, generator by generator: whether they are in step, and which
/// draws only one run has made since they last were.
class RngTracker {
 public:
  static constexpr std::uint32_t kNoLane = ~0U;

  struct Stream {
    bool shifted = false;  ///< a finding has said so
    Source source;         ///< that finding
    std::vector<Draw> draws;
    std::uint64_t more_draws = 0;
    std::string last_common_draw;
    std::optional<Source> drawn_alone;  ///< the finding of the latest of those draws
    /// By the states before and after: by how many the reference has more draws of its own alone.
    /// What a run draws at another place than the other one leaves the same generator.
    std::unordered_map<std::uint64_t, std::int64_t> alone;
    std::uint32_t drawn_in = kNoLane;     ///< the lane of those draws, in the reference
    Both<std::uint64_t> drawn_from{};     ///< which generator, in the run that has drawn
    bool drawn_by_threads = false;        ///< that share work, at any time
    bool drawn_beside_threads = false;    ///< by others, at any time
    Both<std::uint64_t> more_of_threads;  ///< draws of theirs that only that run has made
  };

  /// The stream that an event draws from.
  [[nodiscard]] Stream& stream(const Event& event);

  /// The findings of one run's draws after which both runs have not drawn from that generator; the
  /// default ones aside.
  [[nodiscard]] std::vector<Source> drawn_to_the_end() const;

  /// Both runs are at the same state before two events that are partners, the reference's in a
  /// lane. Another generator, or another lane's, may have the same seed.
  void in_step(const Event& reference, const Event& candidate, std::uint32_t lane,
               std::int64_t step);

  /// Notes the draws of an item that only `side` has, which belongs to the finding `source`.
  void drew_alone(Side side, const Window& window, std::uint32_t event, std::uint32_t lane,
                  std::int64_t step, const Source& source);

  /// Notes the draws of an item of threads that share work, whose order is a race; `alone` if only
  /// that run has the item.
  void drew_in_thread(const Window& window, std::uint32_t event, std::optional<Side> alone);

 private:
  static constexpr std::size_t kDrawsKept = 8;

  std::map<std::pair<bool, std::uint64_t>, Stream> streams_;
};

}  // namespace ulpscope::comparison
