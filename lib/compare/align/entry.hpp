#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Items of both runs, by index.
using ItemLists = Both<std::vector<std::uint32_t>>;

/// One step of walking two aligned windows: an item of both, or of only one.
struct Entry {
  std::uint32_t reference = kNoIndex;  ///< index into the reference window's items
  std::uint32_t candidate = kNoIndex;
  bool relaxed = false;  ///< partners by name, though shapes, dtypes or place differ
  bool moved = false;    ///< partners past other partners

  [[nodiscard]] bool aligned() const noexcept {
    return reference != kNoIndex && candidate != kNoIndex;
  }
};

/// Entries from partners, which ascend on both sides: what is between two partners on one side has
/// no partner.
[[nodiscard]] std::vector<Entry> entries_from(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t reference_count,
    std::size_t candidate_count);

}  // namespace ulpscope::comparison
