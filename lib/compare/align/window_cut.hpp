#pragma once

#include <cstddef>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// How much of a step is held and aligned at a time.
struct WindowLimits {
  /// Events of a lane. Steps of training programs are far below it.
  std::size_t events = std::size_t{1} << 16;
  /// A window in which nothing can be aligned grows to this size before it is abandoned.
  std::size_t most_events = std::size_t{1} << 18;
};

/// How many of the entries, in a piece of a step that continues, will stay as they are whatever
/// comes next: up to the last partners that read and leave equal values, or that are in a row of
/// partners, some way before the end.
[[nodiscard]] std::size_t settled_entries(const std::vector<Entry>& entries,
                                          const Both<const Window*>& windows);

/// Of two windows that do not match, the side that later reaches something that the other one has:
/// its entries here have no partner. Looks ahead with copies of the readers, piece by piece to the
/// end of the step. Empty if neither does.
[[nodiscard]] std::optional<Side> side_that_comes_back(const Both<const Window*>& windows,
                                                       Both<std::optional<LaneReader>> readers,
                                                       const Both<std::int64_t>& step,
                                                       std::size_t events);

}  // namespace ulpscope::comparison
