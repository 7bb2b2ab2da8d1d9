#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Which call of the program each item of two windows comes from; 0 where that is not known.
using ItemCalls = Both<std::vector<std::uint64_t>>;
[[nodiscard]] ItemCalls calls_of_items(const WindowPair& windows);

/// Calls that some items of both runs come from. Such an item has its partner only among those of
/// its own call: a critic that is trained once more is not the generator. One from a call that only
/// one run makes may stand in another one's place.
class SharedCalls {
 public:
  SharedCalls(const ItemCalls& calls, const ItemLists& items);

  /// Equal for items of the same call, 0 for one that only one run makes.
  [[nodiscard]] std::uint64_t of(Side side, std::uint32_t item) const;

 private:
  const ItemCalls& calls_;
  std::unordered_set<std::uint64_t> shared_;
};

}  // namespace ulpscope::comparison
