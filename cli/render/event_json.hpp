#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/render/json_values.hpp"
#include "cli/values/recorded_events.hpp"
#include "ulpscope/statistics.hpp"
#include "ulpscope/stored_value.hpp"

/// Parts of what `inspect --format json` prints.
namespace ulpscope::cli {

/// All that is known about one event.
[[nodiscard]] Json event_json(const LocatedEvent& event);

[[nodiscard]] Json geometry_json(const Geometry& geometry);

/// One value in a list.
[[nodiscard]] Json value_json(const StoredValue& value);

/// All that is known about one value. `recorded`: its statistics, if the run was recorded with
/// them; else they come from the bytes, if available.
[[nodiscard]] Json value_json(const StoredValue& value, const std::optional<Statistics>& recorded,
                              const std::optional<std::vector<std::byte>>& bytes);

/// Null in setup.
[[nodiscard]] inline Json step_json(std::int64_t step) {
  return step == kSetup ? Json(nullptr) : integer(step);
}

}  // namespace ulpscope::cli
