#include "cli/values/recorded_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/values/event_path.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// Calls `use` with every block of a rank, lane by lane.
template <class Use>
void for_each_block(const Run& run, std::uint32_t rank, Use&& use) {
  for (const Lane& lane : run.lanes(rank)) {
    const std::size_t count = run.block_count(rank, lane.id);
    for (std::size_t i = 0; i < count; ++i) use(lane, run.block(rank, lane.id, i));
  }
}

std::uint64_t count_values(const Event& event) {
  const auto is_value = [](const Slot& slot) {
    return (slot.flags & (slot_flag::undefined | slot_flag::no_digest)) == 0;
  };
  return static_cast<std::uint64_t>(
      std::count_if(event.slots.begin(), event.slots.end(), is_value));
}

}  // namespace

void for_each_event(const Run& run, const stored::StepPath& path, const UseEvent& use) {
  bool step_found = false;
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
      if (block.step != path.step) return;
      step_found |= !block.events.empty();
      for (const Event& event : block.events) {
        if (path.event && event.position != *path.event) continue;
        found = true;
        use({rank, lane, block.step, event});
      }
    });
  }
  const std::string step = step_name(path.step);
  if (!step_found)
    throw Error(ErrorCode::usage, fmt::format("'{}' has no step {}", run.info().path, step),
                "ulpscope inspect DUMP steps lists them");
  if (!found)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {} in step {}", run.info().path, *path.event, step),
                fmt::format("ulpscope inspect DUMP {} lists its events", step));
}

bool for_each_event(const Run& run, const stored::EventName& name, const UseEvent& use) {
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
      if (name.lane ? *name.lane != lane.id : lane.role != LaneRole::main) return;
      for (const Event& event : block.events) {
        if (event.position != name.position) continue;
        found = true;
        use({rank, lane, block.step, event});
      }
    });
  }
  return found;
}

std::vector<StepCounts> count_steps(const Run& run) {
  std::vector<StepCounts> all;
  for (const std::uint32_t rank : run.ranks()) {
    std::map<std::int64_t, StepCounts> steps;
    for_each_block(run, rank, [&](const Lane&, const Block& block) {
      StepCounts& counts =
          steps.try_emplace(block.step, StepCounts{rank, block.step, 0, 0}).first->second;
      counts.events += block.events.size();
      for (const Event& event : block.events) counts.values += count_values(event);
    });
    for (const auto& [step, counts] : steps) all.push_back(counts);
  }
  return all;
}

}  // namespace ulpscope::cli
