#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/align/sequence_alignment.hpp"
#include "compare/align/storage_pairs.hpp"
#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

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

/// Names the forward op that a backward node belongs to, the same number in both runs where those
/// ops are partners; 0 if it is not known.
using ForwardId = std::function<std::uint64_t(Side, std::uint32_t lane, std::uint64_t position)>;

struct WindowAlignment {
  /// In order; without partners, the reference's first. What both runs do in another order is
  /// where the reference has it.
  std::vector<Entry> entries;
  std::uint64_t given_up = 0;  ///< items in stretches too different to be searched
  std::uint64_t operations = 0;
};

/// Aligns the items of two windows. `lanes` are their lane ids, for links inside the window;
/// `forward` and `storages` answer for links that leave it. `several_steps`: windows may hold more
/// than one step.
[[nodiscard]] WindowAlignment align(const Window& reference, const Window& candidate,
                                    const Both<std::uint32_t>& lanes, const ForwardId& forward,
                                    const StoragePairs& storages, bool several_steps = false,
                                    const AlignmentLimits& limits = {});

/// Aligns what two ops call directly; indices are events of the windows. Shapes count, place does
/// not.
[[nodiscard]] std::vector<Entry> align_inner(const Window& reference,
                                             const std::vector<std::uint32_t>& reference_events,
                                             const Window& candidate,
                                             const std::vector<std::uint32_t>& candidate_events);

}  // namespace ulpscope::comparison
