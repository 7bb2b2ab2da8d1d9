#pragma once

#include <cstdint>
#include <functional>

#include "compare/align/entry.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/align/shared_calls.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Gives the element of an item. `call` is that of SharedCalls.
using ElementInCall = std::function<SequenceElement(Side, std::uint32_t item, std::uint64_t call)>;

/// Aligns items of the same call first. Between those with partners, calls that only one run has
/// left may stand in each other's place. Pairs are indices into `items`.
[[nodiscard]] SequenceAlignment align_by_calls(const ItemCalls& calls, const ItemLists& items,
                                               const ElementInCall& element_of,
                                               const AlignmentLimits& limits);

}  // namespace ulpscope::comparison
