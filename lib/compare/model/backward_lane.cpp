#include "compare/model/backward_lane.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_backward(const Event& event) {
  return (event.flags & event_flag::in_backward) != 0 || event.kind == EventKind::node ||
         event.kind == EventKind::gradient || event.kind == EventKind::module_gradient;
}

/// A thread of autograd's own. One of the program that runs backward has its forward too.
[[nodiscard]] bool has_device_lane(const std::vector<Lane>& lanes) {
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) {
    return lane.role == LaneRole::autograd && lane.thread_name.starts_with("pt_autograd");
  });
}

}  // namespace

std::optional<LanePart> backward_of_main(const Run& run, std::uint32_t rank) {
  const auto main = main_lane(run.lanes(rank));
  if (!main) return std::nullopt;
  LanePart part = part_of_main(run, rank, *main, LaneRole::autograd);
  for (std::size_t index = 0; index < run.block_count(rank, main->id); ++index) {
    const Block block = run.block(rank, main->id, index);
    for (const Event& event : block.events) {
      if (!is_backward(event)) continue;
      ++part.lane.events;
      if (!part.ranges.empty() && part.ranges.back().second == event.position)
        ++part.ranges.back().second;
      else
        part.ranges.emplace_back(event.position, event.position + 1);
    }
  }
  return part.lane.events > 0 ? std::optional(std::move(part)) : std::nullopt;
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
