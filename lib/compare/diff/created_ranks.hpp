#pragma once

#include <cstddef>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A process that a rank has created, such as a worker that loads data, counts its steps by itself.
/// A finding of it takes the place of the first step in which its creator reads what it has made
/// from there on, and the creator's own findings that only say what it reads there are removed.
/// @returns how many were removed
std::size_t place_created_ranks(std::vector<Record>& records, const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
