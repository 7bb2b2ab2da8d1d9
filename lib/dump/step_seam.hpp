#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// A tensor of an op, as far as it shows for which step the op works.
struct MemoryUse {
  std::uint64_t storage = kNone;
  std::uint64_t writer = kNone;  ///< position of the event of its lane that wrote what it reads
  std::uint32_t geometry = 0;    ///< equal numbers: the same part of the storage
  bool is_read = false;
  bool is_written = false;
  bool is_view = false;   ///< an output that aliases an input
  bool is_named = false;  ///< a parameter, a buffer or a gradient
  bool trains = false;    ///< it requires a gradient
};

/// An event near the border of two steps.
struct SeamEvent {
  std::uint64_t position = 0;
  std::uint16_t depth = 0;
  bool neutral = false;  ///< it may belong to either step: zero_grad, a list of parameters
  std::vector<MemoryUse> uses;
};

/// Of the events between an optimizer's step and the next forward, how many still belong to the
/// step that ends: all up to the last one that looks at what this step has made or trained, and
/// whose results the next forward does not read. What comes after prepares the next step, as do
/// batches, their augmentation, and targets that are computed from the model in advance.
///
/// @param between parents before the events inside them
/// @param forward the next forward, its loss included, as far as it is known
/// @param step_begin position of the first event of the step that ends
[[nodiscard]] std::size_t events_before_seam(std::span<const SeamEvent* const> between,
                                             std::span<const SeamEvent* const> forward,
                                             std::uint64_t step_begin);

}  // namespace ulpscope::dump
