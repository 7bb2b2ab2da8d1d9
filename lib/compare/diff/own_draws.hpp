#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "compare/model/side.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What each run draws from generators of its own. A draw that the other run makes from the same
/// state, earlier or later, is none that it lacks: a sampler draws its order when its loader asks
/// for it, which depends on how many worker processes that has.
class OwnDraws {
 public:
  OwnDraws(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks)
      : runs_(runs), ranks_(ranks) {}

  /// Whether an op of `side` draws into new memory, and the other run makes all of its draws, too,
  /// at any time.
  [[nodiscard]] bool are_made_by_other(Side side, const Window& window, std::uint32_t op);

 private:
  using Keys = std::unordered_set<std::uint64_t>;
  [[nodiscard]] const Keys& of(Side side);

  Both<const Run*> runs_;
  Both<std::uint32_t> ranks_;
  Both<std::optional<Keys>> made_;
};

}  // namespace ulpscope::comparison
