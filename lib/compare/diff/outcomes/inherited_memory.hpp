#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "compare/model/content.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Memory after a number of recorded writes, and what it holds.
using MemoryState = std::tuple<std::uint64_t, std::uint32_t, Content>;

[[nodiscard]] inline MemoryState memory_state(const Slot& slot) {
  return {slot.storage, slot.writes, content_of(slot)};
}

/// Those of `asked` that a forked process has from its creator, as recorded ops of that left them.
/// Nothing of a process that was not forked, or of memory that it has written itself, by an op or
/// past ops.
[[nodiscard]] std::set<MemoryState> inherited(const Run& run, std::uint32_t rank,
                                              const std::vector<const Slot*>& asked);

}  // namespace ulpscope::comparison
