#include "compare/rank_state.hpp"

#include <algorithm>

#include "compare/hash.hpp"

namespace ulpscope::comparison {

void HostNumbers::differ(const std::string& reference, const std::string& candidate,
                         const Source& source) {
  source_ = source;
  if (contains(reference, candidate)) return;
  known_.emplace_back(reference, candidate);
  if (known_.size() > kKept) known_.pop_front();
}

bool HostNumbers::contains(const std::string& reference, const std::string& candidate) const {
  return std::find(known_.begin(), known_.end(), std::pair(reference, candidate)) != known_.end();
}

std::uint64_t History::occurrence(std::uint64_t key, std::int64_t step) {
  Count& count = counts_[key];
  if (count.step != step) count = {step, 0};
  return KeyHash().add(key).add(count.count++).value();
}

const History::Past* History::past(std::uint64_t occurrence) const {
  const auto at = pasts_.find(occurrence);
  return at == pasts_.end() ? nullptr : &at->second;
}

void History::equal(std::uint64_t occurrence, std::int64_t step) {
  const auto [at, inserted] = pasts_.try_emplace(occurrence, Past{step, step, 1, false});
  if (inserted || at->second.broken) return;
  at->second.last = step;
  ++at->second.steps;
}

void History::differs(std::uint64_t occurrence) { pasts_[occurrence].broken = true; }

}  // namespace ulpscope::comparison
