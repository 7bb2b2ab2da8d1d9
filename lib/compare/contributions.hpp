#pragma once

#include <vector>

#include "compare/evidence.hpp"
#include "compare/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Of each origin at a collective, notes which other rank has given that collective something else
/// than in the other run, and that it comes after that. The ranks' n-th calls of a collective
/// belong together, and so do a rank's n-th message to another one and what that receives from it.
void note_contributions(std::vector<Record>& records, const Both<const Run*>& runs,
                        const std::vector<Both<std::uint32_t>>& pairs);

}  // namespace ulpscope::comparison
