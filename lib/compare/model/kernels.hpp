#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/model/lane_reader.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Names of the kernels that an event launched on a GPU, in order; empty if they were not
/// recorded. Reads the run once more, for the few events that a report names.
[[nodiscard]] std::vector<std::string> kernels_of(const Run& run, std::uint32_t rank,
                                                  EventPlace place);

}  // namespace ulpscope::comparison
