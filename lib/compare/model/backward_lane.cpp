#include "compare/model/backward_lane.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "compare/model/changed_block.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_backward(const Event& event) {
  return (event.flags & event_flag::in_backward) != 0 || event.kind == EventKind::node ||
         event.kind == EventKind::gradient || event.kind == EventKind::module_gradient;
}

[[nodiscard]] const Lane* main_lane(const std::vector<Lane>& lanes) {
  const auto found = std::find_if(lanes.begin(), lanes.end(),
                                  [](const Lane& lane) { return lane.role == LaneRole::main; });
  return found == lanes.end() ? nullptr : &*found;
}

/// A thread of autograd's own. One of the program that runs backward has its forward too.
[[nodiscard]] bool has_device_lane(const std::vector<Lane>& lanes) {
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) {
    return lane.role == LaneRole::autograd && lane.thread_name.starts_with("pt_autograd");
  });
}

}  // namespace

BackwardLaneRun::BackwardLaneRun(const Run& run, const std::vector<std::uint32_t>& ranks)
    : ForwardedRun(run), ranks_(ranks) {}

std::optional<BackwardLaneRun::Parts> BackwardLaneRun::read_parts(std::uint32_t rank) const {
  const std::vector<Lane> lanes = run().lanes(rank);
  const Lane* const main = main_lane(lanes);
  if (main == nullptr) return std::nullopt;
  Parts parts;
  parts.main = main->id;
  parts.backward.role = LaneRole::autograd;
  parts.backward.thread_name = main->thread_name;
  for (const Lane& lane : lanes) parts.backward.id = std::max(parts.backward.id, lane.id + 1);
  for (std::size_t index = 0; index < run().block_count(rank, main->id); ++index) {
    const Block block = run().block(rank, main->id, index);
    for (const Event& event : block.events) {
      if (!is_backward(event)) continue;
      ++parts.backward.events;
      if (!parts.ranges.empty() && parts.ranges.back().second == event.position)
        ++parts.ranges.back().second;
      else
        parts.ranges.emplace_back(event.position, event.position + 1);
    }
  }
  return parts.backward.events > 0 ? std::optional(std::move(parts)) : std::nullopt;
}

const BackwardLaneRun::Parts* BackwardLaneRun::parts(std::uint32_t rank) const {
  if (std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) return nullptr;
  const std::lock_guard guard(mutex_);
  auto known = parts_.find(rank);
  if (known == parts_.end()) known = parts_.emplace(rank, read_parts(rank)).first;
  return known->second ? &*known->second : nullptr;
}

bool BackwardLaneRun::Parts::in_backward(std::uint64_t position) const {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), position,
                       [](std::uint64_t value, const auto& range) { return value < range.first; });
  return after != ranges.begin() && position < std::prev(after)->second;
}

std::uint32_t BackwardLaneRun::Parts::lane_of(std::uint32_t lane, std::uint64_t position) const {
  return lane == main && in_backward(position) ? backward.id : lane;
}

std::vector<Lane> BackwardLaneRun::lanes(std::uint32_t rank) const {
  std::vector<Lane> lanes = run().lanes(rank);
  const Parts* const known = parts(rank);
  if (known == nullptr) return lanes;
  for (Lane& lane : lanes)
    if (lane.id == known->main) lane.events -= std::min(lane.events, known->backward.events);
  lanes.push_back(known->backward);
  return lanes;
}

std::size_t BackwardLaneRun::block_count(std::uint32_t rank, std::uint32_t lane) const {
  const Parts* const known = parts(rank);
  const bool apart = known != nullptr && lane == known->backward.id;
  return run().block_count(rank, apart ? known->main : lane);
}

Block BackwardLaneRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  const Parts* const known = parts(rank);
  if (known == nullptr) return run().block(rank, lane, index);
  const bool apart = lane == known->backward.id;
  auto changed =
      std::make_shared<ChangedBlock>(run().block(rank, apart ? known->main : lane, index));
  Block block;
  block.step = changed->whole().step;
  block.lane = lane;
  for (const Event& event : changed->whole().events) {
    if ((apart || lane == known->main) && is_backward(event) != apart) continue;
    Event& taken = block.events.emplace_back(event);
    taken.forward_lane = known->lane_of(event.forward_lane, event.forward);
    for (Slot& slot : changed->own_slots(taken))
      slot.writer_lane = known->lane_of(slot.writer_lane, slot.writer);
  }
  block.storage = std::move(changed);
  return block;
}

Both<std::vector<std::uint32_t>> ranks_with_backward_inside(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& pairs) {
  Both<std::vector<std::uint32_t>> ranks;
  for (const Both<std::uint32_t>& pair : pairs) {
    Both<bool> apart;
    for (const Side side : kSides)
      on(apart, side) = has_device_lane(on(runs, side)->lanes(on(pair, side)));
    if (apart.reference == apart.candidate) continue;
    const Side inside = apart.reference ? Side::candidate : Side::reference;
    on(ranks, inside).push_back(on(pair, inside));
  }
  return ranks;
}

}  // namespace ulpscope::comparison
