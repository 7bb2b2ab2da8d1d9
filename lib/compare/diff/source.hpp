#pragma once

#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

inline constexpr std::uint32_t kNoFinding = ~std::uint32_t{0};
/// A finding beyond those that are kept: only whether it has an effect is known.
inline constexpr std::uint32_t kLeftOutFinding = kNoFinding - 1;

[[nodiscard]] constexpr bool is_kept(std::uint32_t finding) noexcept {
  return finding < kLeftOutFinding;
}

/// Where a difference comes from: a finding, and which of its occurrences. A finding that recurs in
/// later steps is kept once; its occurrences differ in step and event.
struct Source {
  std::uint32_t finding = kNoFinding;
  std::int64_t step = kSetup;  ///< in the reference's numbers
  std::int64_t candidate_step = kSetup;
  std::uint64_t reference_event = kNone;
  std::uint64_t candidate_event = kNone;
  /// The position it takes in the reference lane: its own, or for what only the candidate has that
  /// of the last partner before it.
  std::uint64_t order_event = 0;
  bool follows = false;  ///< it is after that event rather than being it
  /// Memory that differs because of it was last written by an op without a partner, so its current
  /// content was not compared.
  bool written_alone = false;
};

}  // namespace ulpscope::comparison
