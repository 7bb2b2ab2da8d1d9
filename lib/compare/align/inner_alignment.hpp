#pragma once

#include <cstdint>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Aligns what two ops call directly; indices are events of the windows. Shapes count, place does
/// not.
[[nodiscard]] std::vector<Entry> align_inner(const Window& reference,
                                             const std::vector<std::uint32_t>& reference_events,
                                             const Window& candidate,
                                             const std::vector<std::uint32_t>& candidate_events);

}  // namespace ulpscope::comparison
