#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "compare/diff/judgement.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// The partners that a lane of one window has passed last, and the neighbors that findings in it
/// are shown with (`--context`).
class Neighbours {
 public:
  struct Passed {
    EventPair at;
    Judged outcome = Judged::equal;
  };

  explicit Neighbours(RankState& state) : state_(state) {}

  /// Two partners were judged; findings from `new_records` on were made there.
  void pass(const Scene& scene, EventPair at, Judged outcome, std::size_t new_records);
  /// The last finding is of `event`, which `side` alone has.
  void stand_alone(const Scene& scene, const Event& event, Side side);
  /// Another window begins.
  void begin_window() { passed_.clear(); }
  void end_step();

  [[nodiscard]] const std::deque<Passed>& passed() const noexcept { return passed_; }

 private:
  struct Wanted {
    std::size_t record = 0;
    std::size_t left = 0;
  };
  void add_passed(const Scene& scene, std::vector<Neighbour>& neighbours) const;

  RankState& state_;
  std::deque<Passed> passed_;
  std::vector<Wanted> wanted_;  ///< by findings: neighbors after them
};

}  // namespace ulpscope::comparison
