#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ulpscope/run.hpp"

/// Steps, events and values of events as reports print them and users give them.
namespace ulpscope::stored {

/// A step of a dump, or an event in it: "17", "setup", "17/140913", "17/140,913".
struct StepPath {
  std::int64_t step = kSetup;
  std::optional<std::uint64_t> event;
};
/// Empty for any other text.
[[nodiscard]] std::optional<StepPath> parse_step_path(std::string_view text);

/// Whether the text begins as "event:140913" does.
[[nodiscard]] bool names_event(std::string_view text);

/// An event in any step: "event:140913", or "event:2:140913" on lane 2.
struct EventName {
  std::optional<std::uint32_t> lane;
  std::uint64_t position = 0;
};
/// @throws Error with ErrorCode::usage.
[[nodiscard]] EventName parse_event_name(std::string_view text);

/// Values of an event: "event:140913/output.0", "17/140913/output.*"; all of them without a slot.
struct SlotPath {
  std::string_view event;  ///< as the text names it
  std::string_view slots;  ///< a glob
  std::uint64_t position = 0;
  std::optional<std::uint32_t> lane;
  std::optional<std::int64_t> step;
};
/// Empty for a text that names no event.
/// @throws Error with ErrorCode::usage for "event:" without a number.
[[nodiscard]] std::optional<SlotPath> parse_slot_path(std::string_view text);

}  // namespace ulpscope::stored
