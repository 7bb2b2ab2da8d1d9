#pragma once

#include <cstdint>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The result of comparing one tensor of an op in two runs.
enum class Match : std::uint8_t {
  equal,
  differs,
  reshaped,       ///< the same elements in the same order, in a different shape
  reordered,      ///< the same content in memory, whose elements are read in a different order
  metadata,       ///< dtype or shape differ, so values have no comparison
  one_sided,      ///< a tensor in one run, none in the other
  uninitialised,  ///< an output that nothing has written yet
  handle,         ///< its bytes are a pointer
  opaque,         ///< its bytes were not readable in one of the runs
  layout,         ///< laid out so differently that the digests do not compare
  aside,          ///< not meant to be compared: only written, a view, scratch, undefined in both
};

[[nodiscard]] constexpr bool is_difference(Match match) noexcept {
  return match == Match::differs || match == Match::metadata || match == Match::one_sided;
}

/// True if two digests were compared.
[[nodiscard]] constexpr bool was_compared(Match match) noexcept {
  return match == Match::equal || match == Match::differs;
}

/// An input whose content the op reads.
[[nodiscard]] bool is_read(const Slot& slot) noexcept;

/// Compares two slots of the same role and index.
[[nodiscard]] Match match(const Slot& reference, const Slot& candidate);

/// True if the dimensions of both are walked in the same order in memory and the same ones are
/// expanded, so that packed bytes and digests in memory order compare.
[[nodiscard]] bool same_memory_order(const Geometry& a, const Geometry& b);

/// True if memory order is logical order, gaps or not.
[[nodiscard]] bool is_row_major(const Geometry& geometry);

/// Two shapes of which only the first dimension differs.
[[nodiscard]] bool is_other_batch(const std::vector<std::int64_t>& a,
                                  const std::vector<std::int64_t>& b);

/// Number of elements, expanded dimensions counted in full; 0 on overflow or a negative size.
[[nodiscard]] std::uint64_t element_count(const Geometry& geometry) noexcept;

}  // namespace ulpscope::comparison
