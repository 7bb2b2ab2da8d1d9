#pragma once

#include <cstdint>
#include <limits>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The bytes of its storage from a value's first element to its last; everything, with gaps, where
/// the geometry does not say, or says nonsense.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  bool without_gaps = true;

  friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

[[nodiscard]] Extent extent(const Slot& slot);

}  // namespace ulpscope::comparison
