#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// While others do so many steps, a thread that is to be compared has begun to train.
inline constexpr std::int64_t kStepsToBegin = 64;

/// The newest step that a rank, and each thread of it that trains on its own, has begun.
[[nodiscard]] std::int64_t newest_step(const Run& run, std::uint32_t rank);
/// The same of all ranks, processes that take part in no step aside.
[[nodiscard]] std::int64_t newest_step(const Run& run);

/// The earliest step that all of its ranks still have.
[[nodiscard]] std::int64_t first_step(const Run& run);

/// Steps that are over in every rank and thread that newest_step() counts, from the run's first:
/// all that was recorded of them is there.
[[nodiscard]] std::uint64_t steps_over(const Run& run);

/// The same of what a dump has published; 0 if nothing can be read yet.
[[nodiscard]] std::uint64_t published_steps(const std::string& dump);

/// Whether a dump still has the run from its beginning on, and not its last steps alone.
[[nodiscard]] bool has_beginning(const std::string& dump);

/// All steps of a run that has ended, whichever rank and thread has most; 0 if nothing can be read.
[[nodiscard]] std::uint64_t all_steps(const std::string& dump);

}  // namespace ulpscope::cli
