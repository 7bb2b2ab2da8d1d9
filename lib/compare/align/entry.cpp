#include "compare/align/entry.hpp"

#include <algorithm>

namespace ulpscope::comparison {

std::vector<Entry> entries_from(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                                std::size_t reference_count, std::size_t candidate_count) {
  std::vector<Entry> entries;
  entries.reserve(std::max(reference_count, candidate_count));
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  const auto alone = [&](std::size_t i_end, std::size_t j_end) {
    while (i < i_end) entries.push_back({i++, kNoIndex, false});
    while (j < j_end) entries.push_back({kNoIndex, j++, false});
  };
  for (const auto& [a, b] : pairs) {
    alone(a, b);
    entries.push_back({i++, j++, false});
  }
  alone(reference_count, candidate_count);
  return entries;
}

}  // namespace ulpscope::comparison
