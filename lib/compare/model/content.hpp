#pragma once

#include <cstdint>
#include <tuple>

#include "compare/model/value_match.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Memory's size in bytes and its digest: equal bytes, in whatever shape.
using Content = std::tuple<std::uint64_t, Digest>;

[[nodiscard]] inline std::uint64_t bytes_of(const Slot& slot) noexcept {
  return slot.geometry == nullptr
             ? 0
             : element_count(*slot.geometry) * element_size(slot.geometry->dtype);
}

[[nodiscard]] inline Content content_of(const Slot& slot) noexcept {
  return {bytes_of(slot), slot.digest};
}

}  // namespace ulpscope::comparison
