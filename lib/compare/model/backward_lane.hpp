#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/model/side.hpp"
#include "compare/model/split_lane.hpp"

namespace ulpscope::comparison {

/// The backward of a rank's main lane as a lane of role autograd; empty if it has none. Autograd
/// executes the graph of a CPU program in the calling thread, and that of a GPU program in a device
/// thread. Reads all events of the main lane.
[[nodiscard]] std::optional<LanePart> backward_of_main(const Run& run, std::uint32_t rank);

/// The ranks of each run whose backward must be separated, because the run's partner has it in
/// separate threads.
[[nodiscard]] Both<std::vector<std::uint32_t>> ranks_with_backward_inside(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& pairs);

}  // namespace ulpscope::comparison
