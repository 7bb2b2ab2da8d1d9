#pragma once

#include <cstdint>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/forward_ties.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/align/storage_pairs.hpp"
#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

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

}  // namespace ulpscope::comparison
