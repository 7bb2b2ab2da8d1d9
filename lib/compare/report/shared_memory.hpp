#pragma once

#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Adds to findings what other processes have written of what differs, past the recorded ops of a
/// finding's own process. Reads both runs once, if the first finding may need it.
void add_shared_memory(std::vector<Record>& records, const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
