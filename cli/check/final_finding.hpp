#pragma once

#include <cstdint>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// What comes later cannot change that the runs diverge at `finding`: its step is over, or what it
/// says holds whatever follows, and all ops that it happened inside have ended.
/// @param newest_step of the candidate, which may not be over.
[[nodiscard]] bool is_final(const Finding& finding, const Run& reference, const Run& candidate,
                            std::int64_t newest_step);

/// Threads that train, and processes that others have created, are paired by what they have done.
/// Those that the first finding of `report` is about are partners whatever comes: all that could be
/// have begun, or all have done the same for a step, or nobody else has come for many steps.
/// @param first_step that was compared
[[nodiscard]] bool partners_are_there(const Report& report, const Run& reference,
                                      const Run& candidate, std::int64_t first_step);

/// The newest step, which may not be over, of the rank that a finding is of. While it is recorded,
/// a rank may have another number.
[[nodiscard]] std::int64_t newest_around(const Finding& finding, const Run& reference,
                                         const Run& candidate);

}  // namespace ulpscope::cli
