#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What can still be the same op with other shapes, dtypes or place.
[[nodiscard]] SequenceElement relaxed_element(const Event& event, bool marker);

/// Items that strict alignment has left without partners, as the relaxed pass sees them.
struct RelaxedItems {
  using ElementOf = std::function<SequenceElement(Side, std::uint32_t item)>;

  /// Gives what makes an element of each item of a stretch.
  std::function<ElementOf(const ItemLists& stretch)> elements_of;
  std::function<const Event&(Side, std::uint32_t item)> event_of;
};

/// Pairs by name inside each stretch that strict alignment left: the same op with different shapes.
/// A stretch whose names hardly agree, or where one run does much more than to make views, is a
/// different computation and keeps none.
void pair_by_name(std::vector<Entry>& entries, const RelaxedItems& items);

}  // namespace ulpscope::comparison
