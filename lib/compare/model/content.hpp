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

/// The slot's digest says what it holds.
[[nodiscard]] inline bool holds_digest(const Slot& slot) noexcept {
  constexpr std::uint32_t kNoValue = slot_flag::no_digest | slot_flag::undefined |
                                     slot_flag::overwritten | slot_flag::uninitialised;
  return !(slot.flags & kNoValue);
}

[[nodiscard]] inline Content content_of(const Slot& slot) noexcept {
  return {bytes_of(slot), slot.digest};
}

}  // namespace ulpscope::comparison
