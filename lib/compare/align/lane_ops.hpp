#pragma once

#include <cstddef>
#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Calls visit(event, step) for each op of a lane, those that other ops call too.
template <class Visit>
void for_each_op(const Run& run, std::uint32_t rank, std::uint32_t lane, Visit visit) {
  for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events)
      if (event.kind == EventKind::op) visit(event, block.step);
  }
}

}  // namespace ulpscope::comparison
