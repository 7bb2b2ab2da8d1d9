#include "compare/align/call_alignment.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ulpscope::comparison {

SequenceAlignment align_by_calls(const ItemCalls& calls, const ItemLists& items,
                                 const ElementInCall& element_of, const AlignmentLimits& limits) {
  const auto align_items = [&](const ItemLists& some, const SharedCalls& shared) {
    Both<std::vector<SequenceElement>> elements;
    for (const Side side : kSides)
      for (const std::uint32_t item : on(some, side))
        on(elements, side).push_back(element_of(side, item, shared.of(side, item)));
    return align(elements.reference, elements.candidate, limits);
  };
  const SharedCalls shared_by_all(calls, items);
  SequenceAlignment alignment = align_items(items, shared_by_all);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  const auto align_between = [&](std::uint32_t i_end, std::uint32_t j_end) {
    if (i == i_end || j == j_end) return;
    const ItemLists between{{items.reference.begin() + i, items.reference.begin() + i_end},
                            {items.candidate.begin() + j, items.candidate.begin() + j_end}};
    const SharedCalls shared(calls, between);
    const auto are_free = [&](Side side) {
      return std::ranges::any_of(on(between, side), [&](std::uint32_t item) {
        return shared.of(side, item) != shared_by_all.of(side, item);
      });
    };
    if (!are_free(Side::reference) && !are_free(Side::candidate)) return;
    const SequenceAlignment inner = align_items(between, shared);
    alignment.operations += inner.operations;
    for (const auto& [a, b] : inner.pairs) pairs.emplace_back(i + a, j + b);
  };
  for (const auto& [a, b] : alignment.pairs) {
    align_between(a, b);
    pairs.emplace_back(a, b);
    i = a + 1;
    j = b + 1;
  }
  align_between(static_cast<std::uint32_t>(items.reference.size()),
                static_cast<std::uint32_t>(items.candidate.size()));
  alignment.pairs = std::move(pairs);
  return alignment;
}

}  // namespace ulpscope::comparison
