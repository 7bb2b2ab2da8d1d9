#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "compare/align/step_sketch.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Where one run updates its model once more or once less, an optimizer's step ends a step of the
/// program where the other run has none: its next steps hold other parts of the same work.
///
/// @param reference the next steps, the first of which does not have the ops of the other run's
/// @return how many of the next steps of each run together use the same data in the same order;
/// after them both use the same again, step by step. One of each if it is the first that do. Empty
/// if nothing shows which
[[nodiscard]] std::optional<Both<std::uint64_t>> joined_steps(
    const std::deque<StepSketch>& reference, const std::deque<StepSketch>& candidate);

}  // namespace ulpscope::comparison
