#pragma once

#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A process that a rank has created, such as a worker that loads data, counts its steps by itself.
/// Its findings take the place of its creator's first step that reads what it has made.
void place_created_ranks(std::vector<Record>& records, const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
