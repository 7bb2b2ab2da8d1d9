#pragma once

#include <vector>

#include "compare/diff/evidence.hpp"

namespace ulpscope::comparison {

/// What a thread reads in one step from outside of recorded ops is one batch: its features, its
/// labels, its indices. Where several of them differ it is one finding, the first, which says what
/// else was read.
/// @param records in their order
void merge_by_batch(std::vector<Record>& records);

}  // namespace ulpscope::comparison
