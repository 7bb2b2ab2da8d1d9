#include "values/value_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "core/counts.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::stored {
namespace {

constexpr std::string_view kEventPrefix = "event:";

template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  const std::string digits = core::ungrouped(text);
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  Number number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<StepPath> parse_step_path(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view step = text.substr(0, slash);
  const auto number = step == "setup" ? kSetup : number_in<std::int64_t>(step);
  if (!number) return std::nullopt;
  StepPath path{.step = *number, .event = std::nullopt};
  if (slash == text.npos || slash + 1 == text.size()) return path;
  path.event = number_in<std::uint64_t>(text.substr(slash + 1));
  return path.event ? std::optional(path) : std::nullopt;
}

bool names_event(std::string_view text) { return text.starts_with(kEventPrefix); }

EventName parse_event_name(std::string_view text) {
  const std::string_view rest = text.substr(kEventPrefix.size());
  const std::size_t colon = rest.find(':');
  const bool has_lane = colon != rest.npos;
  const auto position = number_in<std::uint64_t>(has_lane ? rest.substr(colon + 1) : rest);
  const auto lane = has_lane ? number_in<std::uint32_t>(rest.substr(0, colon)) : std::nullopt;
  if (!position || has_lane != lane.has_value())
    throw Error(ErrorCode::usage, fmt::format("'{}' names no event", text),
                "events are event:140913, and event:2:140913 on lane 2");
  return {lane, *position};
}

std::optional<SlotPath> parse_slot_path(std::string_view text) {
  std::size_t slash = text.find('/');
  if (!names_event(text) && slash != text.npos) slash = text.find('/', slash + 1);
  SlotPath path;
  path.event = text.substr(0, slash);
  path.slots = slash == text.npos ? "*" : text.substr(slash + 1);
  if (names_event(text)) {
    const EventName event = parse_event_name(path.event);
    path.position = event.position;
    path.lane = event.lane;
    return path;
  }
  const auto step = parse_step_path(path.event);
  if (!step || !step->event) return std::nullopt;
  path.position = *step->event;
  path.step = step->step;
  return path;
}

}  // namespace ulpscope::stored
