#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "compare/align/step_sketch.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Of each run, from the first of its next steps on; empty where it is not known.
using StepsLeft = Both<std::optional<std::uint64_t>>;
using CountStepsLeft = std::function<StepsLeft()>;

/// Where one run updates its model once more or once less, an optimizer's step ends a step of the
/// program where the other run has none: its next steps hold other parts of the same work.
///
/// @param reference the next steps, the first of which does not have the ops of the other run's
/// @return how many of the next steps of each run together use the same data in the same order;
/// after them both use the same again, step by step. Where all steps use the same data, how many
/// have as many backward passes; where data and random numbers are shifted, how many run their
/// forwards in the same calls of the program. One of each if it is the first that do. Empty if
/// nothing shows which
[[nodiscard]] std::optional<Both<std::size_t>> joined_steps(const std::deque<StepSketch>& reference,
                                                            const std::deque<StepSketch>& candidate,
                                                            const CountStepsLeft& count_left);

}  // namespace ulpscope::comparison
