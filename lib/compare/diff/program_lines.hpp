#pragma once

#include <vector>

#include "compare/diff/evidence.hpp"

namespace ulpscope::comparison {

/// What one line of the program does differently is one finding: the first, with the number of the
/// others and their steps. Ops that only one run has are in whichever module, because the line has
/// been rewritten; everything else may be another layer's.
/// @param records in their order
void merge_by_line(std::vector<Record>& records);

}  // namespace ulpscope::comparison
