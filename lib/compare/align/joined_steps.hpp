#pragma once

#include <cstdint>
#include <optional>

#include "compare/align/step_sketch.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Where one run updates its model once more or once less, an optimizer's step ends a step of the
/// program where the other run has none: its next steps hold other parts of the same work.
///
/// @param reference the next steps, the first of which does not have the ops of the other run's
/// @return how many of the next steps of each run together use the same data in the same order, one
/// of each or more; after them both use the same again, step by step. Empty if nothing shows that,
/// or if the first of each use the same
[[nodiscard]] std::optional<Both<std::uint64_t>> joined_steps(const Sketches& reference,
                                                              const Sketches& candidate);

}  // namespace ulpscope::comparison
