#include "compare/align/forward_ties.hpp"

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {

void ForwardTies::number_partners(const ItemLists& items, const SequenceAlignment& alignment) {
  for (const Side side : kSides) on(numbers_, side).assign(windows_.item_count(side), 0);
  std::uint64_t number = 0;
  for (const auto& [a, b] : alignment.pairs) {
    ++number;
    numbers_.reference[items.reference[a]] = number;
    numbers_.candidate[items.candidate[b]] = number;
  }
  for (const Side side : kSides)
    for (std::uint32_t item = 0; item < windows_.item_count(side); ++item)
      if (in_backward(windows_.event_of(side, item)))
        on(of_backward_, side).insert(of_forward(side, item));
}

std::uint64_t ForwardTies::of(Side side, std::uint32_t item) const {
  return in_backward(windows_.event_of(side, item)) ? of_forward(side, item)
                                                    : on(numbers_, side)[item];
}

std::uint64_t ForwardTies::of_both(Side side, std::uint32_t item) const {
  if (!in_backward(windows_.event_of(side, item))) return 0;
  const std::uint64_t tie = of_forward(side, item);
  return on(of_backward_, the_other(side)).contains(tie) ? tie : 0;
}

std::uint64_t ForwardTies::of_forward(Side side, std::uint32_t item) const {
  const Event* node = windows_.node_around(side, item);
  if (node == nullptr || node->forward == kNone) return 0;
  if (const std::uint32_t forward = windows_.forward_item(side, *node); forward != kNoIndex) {
    const std::uint64_t number = on(numbers_, side)[forward];
    return number == 0 ? 0 : KeyHash().add(number).value();
  }
  return outside_ ? outside_(side, node->forward_lane, node->forward) : 0;
}

}  // namespace ulpscope::comparison
