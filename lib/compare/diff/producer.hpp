#pragma once

#include <cstdint>
#include <string>

#include "compare/diff/describe.hpp"

namespace ulpscope::comparison {

/// The outermost op around an event, or that event; an empty event pointer if there is none.
[[nodiscard]] HeldEvent outermost_op(const Run& run, std::uint32_t rank, EventPlace place);

/// The outermost op that wrote what a slot reads; an empty event pointer if it is not known.
[[nodiscard]] HeldEvent outermost_writer(const Scene& scene, Side side, const Slot& slot);

/// An op as a reader finds it again.
struct OpPlace {
  std::string op;      ///< empty if it is not known
  std::string module;  ///< that it belongs to, or the root; empty if that is not known
  std::uint64_t event = kNone;
};

/// As outermost_writer.
[[nodiscard]] OpPlace producer(const Scene& scene, Side side, const Slot& slot);

/// The outermost op around the event of a window with this index, or that event.
[[nodiscard]] OpPlace outermost_around(const Scene& scene, Side side, std::uint32_t index);

/// "aten::addmm, layers.0.query, event 12".
[[nodiscard]] std::string words(const OpPlace& of);

}  // namespace ulpscope::comparison
