#pragma once

#include <optional>
#include <utility>

#include "compare/diff/explain/op_pair.hpp"
#include "compare/diff/judgement.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// Decides about one op (or another event that holds values) that both runs have: are they equal,
/// do they diverge here and how, or did they diverge before.
class OpJudge {
 public:
  explicit OpJudge(RankState& state) : pair_(state, lane_) {}
  OpJudge(const OpJudge&) = delete;
  OpJudge& operator=(const OpJudge&) = delete;

  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at);

  /// Compares the values of a scope that ops ran inside: they prove equality or a difference, but
  /// the op that diverged is one of those inside.
  [[nodiscard]] Judgement judge_scope(const Scene& scene, EventPair at);

  /// The program acts on numbers that differ already, because of `source`: they determine the
  /// arguments of what follows, and its data. Empty: no longer.
  void follow_numbers(std::optional<Source> source) noexcept { lane_.numbers = std::move(source); }

 private:
  LaneMemory lane_;
  OpPair pair_;  ///< the one judged last: its buffers serve again
};

}  // namespace ulpscope::comparison
