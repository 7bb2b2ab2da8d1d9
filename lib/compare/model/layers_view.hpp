#pragma once

#include <cstdint>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// True if a rank's recording has ops, false if it has layers only.
[[nodiscard]] bool holds_ops(const Run& run, std::uint32_t rank);

/// A lane as it would be with only layers recorded: without ops, autograd nodes and named ranges.
/// What ran inside one of these is inside the event around it.
class LayersView {
 public:
  /// The lane's next block, filtered. Blocks must come in order.
  [[nodiscard]] Block of(Block block);

 private:
  struct Open {
    std::uint64_t position = kNone;
    std::uint64_t shown = kNone;  ///< itself, or the nearest event around it that is shown
  };
  std::vector<Open> open_;
};

}  // namespace ulpscope::comparison
