#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// True if a dump is given as `DUMP@steps=...`.
[[nodiscard]] bool selects_steps(const std::string& argument);

/// By how many the candidate's steps are later than the reference's, if both have the same number
/// of steps: the first of one is then aligned with the first of the other. Else 0: the same
/// numbers.
[[nodiscard]] std::int64_t offset_by_position(const Run& reference, const Run& candidate);

}  // namespace ulpscope::cli
