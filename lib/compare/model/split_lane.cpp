#include "compare/model/split_lane.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "compare/model/changed_block.hpp"

namespace ulpscope::comparison {
namespace {

/// Where the event at that place is now.
[[nodiscard]] std::uint32_t lane_of(const LanePart& part, std::uint32_t lane,
                                    std::uint64_t position) {
  return lane == part.main && contains(part.ranges, position) ? part.lane.id : lane;
}

}  // namespace

bool contains(const PositionRanges& ranges, std::uint64_t position) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), position,
                       [](std::uint64_t value, const auto& range) { return value < range.first; });
  return after != ranges.begin() && position < std::prev(after)->second;
}

std::optional<Lane> main_lane(const std::vector<Lane>& lanes) {
  const auto found = std::find_if(lanes.begin(), lanes.end(),
                                  [](const Lane& lane) { return lane.role == LaneRole::main; });
  return found == lanes.end() ? std::nullopt : std::optional(*found);
}

LanePart part_of_main(const Run& run, std::uint32_t rank, const Lane& main, LaneRole role) {
  LanePart part;
  part.main = main.id;
  part.lane.role = role;
  part.lane.thread_name = main.thread_name;
  for (const Lane& lane : run.lanes(rank)) part.lane.id = std::max(part.lane.id, lane.id + 1);
  return part;
}

const LanePart* SplitLaneRun::part(std::uint32_t rank) const {
  const std::lock_guard guard(mutex_);
  auto known = parts_.find(rank);
  if (known == parts_.end()) known = parts_.emplace(rank, part_of_(rank)).first;
  return known->second ? &*known->second : nullptr;
}

std::vector<Lane> SplitLaneRun::lanes(std::uint32_t rank) const {
  std::vector<Lane> lanes = run().lanes(rank);
  const LanePart* const known = part(rank);
  if (known == nullptr) return lanes;
  for (Lane& lane : lanes)
    if (lane.id == known->main) lane.events -= std::min(lane.events, known->lane.events);
  lanes.push_back(known->lane);
  return lanes;
}

std::size_t SplitLaneRun::block_count(std::uint32_t rank, std::uint32_t lane) const {
  const LanePart* const known = part(rank);
  const bool apart = known != nullptr && lane == known->lane.id;
  return run().block_count(rank, apart ? known->main : lane);
}

Block SplitLaneRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  const LanePart* const known = part(rank);
  if (known == nullptr) return run().block(rank, lane, index);
  const bool apart = lane == known->lane.id;
  const std::uint32_t recorded = apart ? known->main : lane;
  auto changed = std::make_shared<ChangedBlock>(run().block(rank, recorded, index));
  Block block;
  block.step = changed->whole().step;
  block.lane = lane;
  for (const Event& event : changed->whole().events) {
    if (lane_of(*known, recorded, event.position) != lane) continue;
    Event& taken = block.events.emplace_back(event);
    taken.forward_lane = lane_of(*known, event.forward_lane, event.forward);
    for (Slot& slot : changed->own_slots(taken))
      slot.writer_lane = lane_of(*known, slot.writer_lane, slot.writer);
  }
  block.storage = std::move(changed);
  return block;
}

}  // namespace ulpscope::comparison
