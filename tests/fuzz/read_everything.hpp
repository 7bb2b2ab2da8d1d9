#pragma once

#include "dump/segment_reader.hpp"
#include "ulpscope/run.hpp"

/// Reads everything that a run has, as the commands do.
namespace ulpscope::test {

inline void read_everything(const Run& run) {
  for (const std::uint32_t rank : run.ranks()) {
    static_cast<void>(run.environment(rank));
    for (const Lane& lane : run.lanes(rank)) {
      for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
        const Block block = run.block(rank, lane.id, i);
        for (const Event& event : block.events) {
          static_cast<void>(arguments(event));
          for (const Slot& slot : event.slots) {
            static_cast<void>(run.content(rank, slot.digest));
            if (slot.geometry == nullptr) continue;
            static_cast<void>(run.statistics(rank, slot.digest, slot.geometry->dtype));
          }
        }
      }
    }
    for (const LayerValue& value : run.layer_values(rank)) {
      static_cast<void>(run.content(rank, value.digest));
    }
  }
}

}  // namespace ulpscope::test
