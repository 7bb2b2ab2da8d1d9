#pragma once

#include <cstdint>

#include "compare/evidence.hpp"
#include "compare/side.hpp"

namespace ulpscope::comparison {

/// Reads the bytes behind the differing tensors of a finding and enters how far they are apart and
/// what the numbers show. Gives the number of tensors whose bytes are not in both dumps.
std::uint64_t measure(Record& record, const Both<const Run*>& runs);

}  // namespace ulpscope::comparison
