#pragma once

#include <cstdint>
#include <vector>

#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Passes of backward whose gradients no update has used. Optimizers' ops are not paired across a
/// skipped update: as many passes must have been dropped before both.
class DroppedGradients {
 public:
  explicit DroppedGradients(const WindowPair& windows);

  /// How many times gradients that backward had left were dropped before an item. Counted from the
  /// last update, and negative before that, where the last updates of both runs leave the same; 0
  /// throughout where both have as many passes.
  [[nodiscard]] std::int64_t before(Side side, std::uint32_t item) const {
    return on(counts_, side)[item];
  }

 private:
  Both<std::vector<std::int64_t>> counts_;  ///< by item
};

}  // namespace ulpscope::comparison
