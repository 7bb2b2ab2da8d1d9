#include "cli/base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ulpscope::cli {
namespace {

/// Optimal string alignment distance.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row(to.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last[to.size()];
}

constexpr std::size_t kLongestWord = 64;  // a longer one is not a typo

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return {};
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::string best;
  std::pair<std::size_t, std::size_t> fewest{most + 1, 0};
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    const bool completes = word.size() >= 3 && candidate.starts_with(word);
    const std::pair rank{completes ? 1 : distance, distance};
    if (rank < fewest) {
      fewest = rank;
      best = candidate;
    }
  }
  return best;
}

}  // namespace ulpscope::cli
