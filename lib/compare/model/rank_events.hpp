#pragma once

#include <cstddef>
#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Calls visit(event, step) for each event of a rank, lane by lane.
template <class Visit>
void for_each_event(const Run& run, std::uint32_t rank, Visit visit) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      for (const Event& event : block.events) visit(event, block.step);
    }
}

}  // namespace ulpscope::comparison
