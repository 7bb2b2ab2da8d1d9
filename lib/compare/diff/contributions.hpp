#pragma once

#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// For each origin at a collective, notes which other rank's contribution differs between the runs,
/// and that the origin comes after it. The ranks' n-th calls of a collective belong together, and
/// so do a rank's n-th message to a receiver and the n-th that this receives from it.
void note_contributions(std::vector<Record>& records, const Both<const Run*>& runs,
                        const std::vector<Both<std::uint32_t>>& pairs);

}  // namespace ulpscope::comparison
