#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/describe.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

enum class Judged : std::uint8_t {
  equal,
  found,       ///< something parts here
  propagated,  ///< differs because of an earlier divergence
};

struct Judgement {
  Judged outcome = Judged::equal;
  bool differs = false;          ///< a value that it read or left is unequal
  bool numbers_differ = false;   ///< a number that it gave back to the program is unequal
  std::uint64_t compared = 0;    ///< digests that were compared
  bool follows = false;          ///< what it read, or its generator, differed
  std::optional<Source> source;  ///< why, if known
  /// A finding that diverges only if it turns out to change a value.
  std::optional<Source> pending;
};

/// Adds the result of comparing the tensors of the events at `at` to the totals and to `judgement`.
void count_values(RankState& state, const Scene& scene, EventPair at,
                  const std::vector<SlotPair>& slots, Judgement& judgement);

/// Applies the tolerance to a tensor of the events at `at` that differs in its bits.
void judge_tolerance(RankState& state, const Scene& scene, EventPair at, const SlotPair& slot);

/// Counts an event pair as aligned and, where it is that, as propagated.
void count_event(RankState& state, const Scene& scene, const Judgement& judgement);

}  // namespace ulpscope::comparison
