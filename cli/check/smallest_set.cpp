#include "cli/check/smallest_set.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

namespace ulpscope::cli {
namespace {

std::vector<IndexSet> chunks(const IndexSet& set, std::size_t parts) {
  std::vector<IndexSet> result;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = static_cast<std::ptrdiff_t>(part * set.size() / parts);
    const auto end = static_cast<std::ptrdiff_t>((part + 1) * set.size() / parts);
    result.emplace_back(set.begin() + begin, set.begin() + end);
  }
  return result;
}

IndexSet without(const IndexSet& set, const IndexSet& part) {
  IndexSet rest;
  std::set_difference(set.begin(), set.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

IndexSet smallest_failing_set(std::size_t count,
                              const std::function<bool(const IndexSet&)>& fails) {
  IndexSet set(count);
  std::iota(set.begin(), set.end(), std::size_t{0});
  std::size_t parts = 2;
  while (set.size() > 1) {
    const std::vector<IndexSet> pieces = chunks(set, parts);
    const auto part = std::find_if(pieces.begin(), pieces.end(), fails);
    if (part != pieces.end()) {
      set = *part;
      parts = 2;
      continue;
    }
    const auto removed =
        parts == 2 ? pieces.end()  // the rest of one half is the other half
                   : std::find_if(pieces.begin(), pieces.end(), [&](const IndexSet& piece) {
                       return fails(without(set, piece));
                     });
    if (removed != pieces.end()) {
      set = without(set, *removed);
      parts = std::max<std::size_t>(parts - 1, 2);
    } else if (parts < set.size()) {
      parts = std::min(set.size(), 2 * parts);
    } else {
      break;
    }
  }
  return set;
}

}  // namespace ulpscope::cli
