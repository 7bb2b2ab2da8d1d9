#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "compare/diff/evidence.hpp"

namespace ulpscope::comparison {

/// What one line of the program does differently is one finding: the first, with the number of the
/// others and their steps. Ops that only one run has are in whichever module, because the line has
/// been rewritten; everything else may be another layer's.
/// @param records in their order
void merge_by_line(std::vector<Record>& records);

/// What one line does differently in several processes of a group is one finding: the first, with
/// their ranks.
/// @param records in their order
/// @param group_of the group of a rank of the reference; 0: it is in none
/// @returns how many were removed
std::size_t merge_processes(std::vector<Record>& records,
                            const std::function<std::uint64_t(std::uint32_t)>& group_of);

}  // namespace ulpscope::comparison
