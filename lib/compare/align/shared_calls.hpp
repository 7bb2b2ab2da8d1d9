#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Which calls of the program the items of two windows come from. One that both windows have items
/// from has its partner only there: a critic that is trained once more is not the generator. One
/// that only one window has may stand in another's place.
class SharedCalls {
 public:
  explicit SharedCalls(const Both<const Window*>& windows);

  /// Equal for items of the same call; 0 where it is not known, or only one window has items of it.
  [[nodiscard]] std::uint64_t call_of(Side side, std::uint32_t item) const;

 private:
  Both<std::vector<std::uint64_t>> calls_;  ///< of each item
  Both<std::unordered_set<std::uint64_t>> known_;
};

}  // namespace ulpscope::comparison
