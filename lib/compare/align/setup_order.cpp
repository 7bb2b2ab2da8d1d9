#include "compare/align/setup_order.hpp"

#include "compare/model/structure.hpp"

namespace ulpscope::comparison {

void SetupOrder::note_alone(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.aligned()) continue;
    const Side side = entry.candidate == kNoIndex ? Side::reference : Side::candidate;
    const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
    const Event& event = windows_.event_of(side, item);
    if (event.phase == Phase::setup) on(alone_, side).insert(structure_key(event, Place::counts));
  }
}

bool SetupOrder::differs(Side side, std::uint32_t item) const {
  const Event& event = windows_.event_of(side, item);
  return event.phase == Phase::setup &&
         on(alone_, the_other(side)).contains(structure_key(event, Place::counts));
}

}  // namespace ulpscope::comparison
