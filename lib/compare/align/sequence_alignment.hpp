#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ulpscope::comparison {

/// One element of a sequence to align. Elements can be partners only if `structure` agrees; equal
/// digests of what they read and leave, and equal arguments, decide between several partners.
struct SequenceElement {
  std::uint64_t structure = 0;
  std::uint64_t inputs = 0;   ///< 0 if nothing is known
  std::uint64_t outputs = 0;  ///< 0 if nothing is known
  bool marker = false;        ///< the end of a scope: less than an op, but for its values
  std::uint64_t arguments = 0;
  bool weak = false;  ///< says little of what it belongs to: weighs least, and anchors nothing
};

struct SequenceAlignment {
  /// Partners by index, ascending on both sides.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::uint64_t operations = 0;  ///< inner-loop steps taken
  std::uint64_t given_up = 0;    ///< elements in stretches too different to be searched
};

struct AlignmentLimits {
  std::size_t exact_cells = std::size_t{1}
                            << 16;  ///< stretches up to this product are solved exactly
  std::size_t differences = 2048;   ///< edits searched for in a longer stretch before giving up
};

/// Aligns two sequences: equal values first, unique elements next, then the shortest edit script.
/// Near-linear where few elements differ. A stretch with more than `limits.differences` edits and
/// no unique element is taken in pieces as long as most of it agrees, and else left without
/// partners.
[[nodiscard]] SequenceAlignment align(const std::vector<SequenceElement>& reference,
                                      const std::vector<SequenceElement>& candidate,
                                      const AlignmentLimits& limits = {});

}  // namespace ulpscope::comparison
