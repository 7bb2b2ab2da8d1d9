#pragma once

#include <cstdint>
#include <span>

#include "compare/model/side.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The same event in both runs.
struct EventPair {
  std::uint32_t reference = kNoIndex;
  std::uint32_t candidate = kNoIndex;
};

/// Both runs' windows of one lane and step, and what is needed to search beyond them.
struct Scene {
  Both<const Run*> runs;
  Both<std::uint32_t> ranks;
  Both<const Lane*> lanes;  ///< never null: a run without the lane shows an empty one
  Both<const Window*> windows;
  std::int64_t step = kSetup;  ///< of the reference
  std::int64_t candidate_step = kSetup;
  /// By the items of the windows: one more than the item in the reference that an item and its
  /// partner are, 0 without a partner that is more than a name. Empty if that is not known
  /// beforehand.
  Both<std::span<const std::uint64_t>> partners;
  std::uint64_t generation = 0;  ///< of windows and partners
};

}  // namespace ulpscope::comparison
