#pragma once

#include "ulpscope/compare.hpp"

namespace ulpscope::comparison {

/// What ops did inside of the modules in which runs that were compared by layers diverge: the first
/// op of each that differs for a reason of its own, its arguments and its causes. Nothing if one of
/// the runs has no ops.
/// @param options those that the report was made with
void look_inside_modules(Report& report, const Run& reference, const Run& candidate,
                         const CompareOptions& options);

}  // namespace ulpscope::comparison
