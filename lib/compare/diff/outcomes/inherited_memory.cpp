#include "compare/diff/outcomes/inherited_memory.hpp"

namespace ulpscope::comparison {

std::set<MemoryState> inherited(const Run& run, std::uint32_t rank,
                                const std::vector<const Slot*>& asked) {
  const RankIdentity process = run.identity(rank);
  if (!process.creator) return {};
  std::set<MemoryState> wanted;
  for (const Slot* slot : asked)
    if (slot->writer == kNone) wanted.insert(memory_state(*slot));
  std::set<MemoryState> found;
  for (const Lane& lane : run.lanes(*process.creator))
    for (std::size_t index = 0; index < run.block_count(*process.creator, lane.id); ++index) {
      if (found.size() == wanted.size()) return found;
      const Block block = run.block(*process.creator, lane.id, index);
      for (const Event& event : block.events)
        for (const Slot& slot : event.slots)
          if (const MemoryState state = memory_state(slot); wanted.contains(state))
            found.insert(state);
    }
  return found;
}

}  // namespace ulpscope::comparison
