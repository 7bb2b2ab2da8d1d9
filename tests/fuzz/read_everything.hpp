#pragma once

#include "dump/segment_reader.hpp"
#include "dump/value_shape.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/run.hpp"
#include "ulpscope/stored_value.hpp"

/// Reads everything that a run has, as the commands do.
namespace ulpscope::test {

/// As an array. Expanded values take seconds to fill, and are left out where they are large.
inline void read_array(const Run& run, const StoredValue& value) {
  constexpr std::uint64_t kMostExpanded = 1 << 20;
  const auto shape = dump::value_shape(value.geometry);
  if (shape && shape->bytes > shape->packed_bytes && shape->bytes > kMostExpanded) return;
  try {
    static_cast<void>(read_elements(run, value));
  } catch (const Error&) {
    // That of one value says nothing of the others.
  }
}

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
            read_array(run, {rank, block.step, {}, slot.digest, *slot.geometry, true, false});
          }
        }
      }
    }
    for (const LayerValue& value : run.layer_values(rank)) {
      static_cast<void>(run.content(rank, value.digest));
      read_array(run, {rank, value.step, value.path, value.digest, value.geometry, true, true});
    }
  }
}

}  // namespace ulpscope::test
