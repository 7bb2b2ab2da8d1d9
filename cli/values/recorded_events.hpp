#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ulpscope/run.hpp"
#include "values/value_name.hpp"

namespace ulpscope::cli {

/// An event where it stands in a run.
struct LocatedEvent {
  std::uint32_t rank;
  const Lane& lane;
  std::int64_t step;
  const Event& event;
};
using UseEvent = std::function<void(const LocatedEvent&)>;

/// Calls `use` with the events of a step, or with the one that the path names on each lane that has
/// it: rank by rank, lane by lane.
/// @throws Error with ErrorCode::usage if the run has no such step or event.
void for_each_event(const Run& run, const stored::StepPath& path, const UseEvent& use);

/// The same for an event in any step, on the main lanes if the name has no lane. False if there is
/// none.
[[nodiscard]] bool for_each_event(const Run& run, const stored::EventName& name,
                                  const UseEvent& use);

struct StepCounts {
  std::uint32_t rank;
  std::int64_t step;
  std::uint64_t events;
  std::uint64_t values;
};
/// By rank, then by step.
[[nodiscard]] std::vector<StepCounts> count_steps(const Run& run);

}  // namespace ulpscope::cli
