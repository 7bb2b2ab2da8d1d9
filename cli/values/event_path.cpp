#include "cli/values/event_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "compare/model/lane_reader.hpp"
#include "ulpscope/error.hpp"
#include "values/value_name.hpp"

namespace ulpscope::cli {
namespace {

using stored::EventName;
using stored::names_event;
using stored::parse_event_name;
using stored::parse_step_path;

/// Lanes of a rank that have an event at a position, the main one first; of one step if given.
std::vector<Lane> lanes_with(const Run& run, std::uint32_t rank, std::uint64_t position,
                             std::optional<std::int64_t> step) {
  std::vector<Lane> lanes;
  for (const Lane& lane : run.lanes(rank)) {
    const auto held = comparison::find_event(run, rank, {lane.id, position});
    if (held.event != nullptr && (!step || held.block->step == *step)) lanes.push_back(lane);
  }
  std::stable_partition(lanes.begin(), lanes.end(),
                        [](const Lane& lane) { return lane.role == LaneRole::main; });
  return lanes;
}

}  // namespace

std::string step_name(std::int64_t step) {
  return step == kSetup ? "setup" : fmt::format("{}", step);
}

RecordedPlace find_place(const Run& run, const std::string& text) {
  const auto path = parse_step_path(text);
  if (!names_event(text) && !(path && path->event))
    throw Error(ErrorCode::usage, fmt::format("'{}' names no event", text),
                "events are 17/140913 or event:140913, and event:2:140913 on lane 2");
  const std::vector<std::uint32_t> ranks = run.ranks();
  if (ranks.empty())
    throw Error(ErrorCode::usage, fmt::format("'{}' has no event {}", run.info().path, text));
  const std::uint32_t rank = ranks.front();
  std::optional<std::int64_t> step;
  EventName wanted;
  if (names_event(text)) {
    wanted = parse_event_name(text);
  } else {
    wanted.position = *path->event;
    step = path->step;
  }
  const std::vector<Lane> lanes = lanes_with(run, rank, wanted.position, step);
  const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) {
    return !wanted.lane || lane.id == *wanted.lane;
  });
  if (found == lanes.end())
    throw Error(ErrorCode::usage, fmt::format("'{}' has no event {}", run.info().path, text),
                "ulpscope inspect DUMP STEP lists the events of a step");
  if (!wanted.lane && lanes.size() > 1 && found->role != LaneRole::main)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has an event {} on several lanes", run.info().path, text),
                fmt::format("name the lane, as event:{}:{}", found->id, wanted.position));
  return {rank, found->id, wanted.position};
}

}  // namespace ulpscope::cli
