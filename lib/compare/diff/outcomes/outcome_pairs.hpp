#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compare/diff/outcomes/outcome.hpp"
#include "compare/diff/outcomes/run_outcomes.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Takes those that have a partner with an equal key, each with the first such partner, out of what
/// both runs leave. `pair(reference, candidate)` sees each pair.
/// @param counts whether an outcome takes part
template <class Key, class Counts, class Pair>
void take_partners(Both<RunOutcomes>& left, Counts counts, Key key, Pair pair) {
  std::vector<Outcome>& candidates = left.candidate.outcomes;
  std::multimap<decltype(key(std::declval<const Outcome&>())), std::size_t> by_key;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (counts(candidates[k])) by_key.emplace(key(candidates[k]), k);
  std::vector<bool> taken(candidates.size(), false);
  std::erase_if(left.reference.outcomes, [&](const Outcome& one) {
    if (!counts(one)) return false;
    const auto wanted = key(one);
    const auto partner = by_key.lower_bound(wanted);
    if (partner == by_key.end() || wanted < partner->first) return false;
    const std::size_t index = partner->second;
    taken[index] = true;
    by_key.erase(partner);
    pair(one, candidates[index]);
    return true;
  });
  std::size_t index = 0;
  std::erase_if(candidates, [&](const Outcome&) { return taken[index++]; });
}

/// Takes out contents that both runs leave, `key` being what must be equal.
/// @return how many of them are known
template <class Key>
[[nodiscard]] std::uint64_t take_equal(Both<RunOutcomes>& left, Key key) {
  std::uint64_t known = 0;
  take_partners(
      left, [](const Outcome& one) { return is_known(*one.slot) || is_unfilled(*one.slot); }, key,
      [&](const Outcome& one, const Outcome&) { known += is_known(*one.slot) ? 1 : 0; });
  return known;
}

}  // namespace ulpscope::comparison
