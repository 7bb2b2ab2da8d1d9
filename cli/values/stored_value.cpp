#include "cli/values/stored_value.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/base/words.hpp"
#include "cli/options/option_values.hpp"
#include "cli/values/tree_glob.hpp"
#include "dump/value_shape.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kEventPrefix = "event:";

std::string slot_text(const Event& event, const Slot& slot) {
  const bool is_list = std::any_of(event.slots.begin(), event.slots.end(), [&](const Slot& other) {
    return other.role == slot.role && other.index == slot.index && other.element != 0;
  });
  const std::string text = fmt::format("{}.{}", name(slot.role), slot.index);
  return is_list ? fmt::format("{}.{}", text, slot.element) : text;
}

bool is_asked_for(const EventName& event, const Lane& lane) {
  return event.lane ? *event.lane == lane.id : lane.role == LaneRole::main;
}

void add_event_values(const Run& run, std::string_view glob, std::vector<StoredValue>& values) {
  const std::size_t slash = glob.find('/');
  const std::string_view event_text = glob.substr(0, slash);
  const EventName wanted = parse_event_name(event_text);
  const std::string_view slots = slash == std::string_view::npos ? "*" : glob.substr(slash + 1);
  for (const std::uint32_t rank : run.ranks()) {
    for (const Lane& lane : run.lanes(rank)) {
      if (!is_asked_for(wanted, lane)) continue;
      for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
        const Block block = run.block(rank, lane.id, i);
        if (block.events.empty() || block.events.back().position < wanted.position) continue;
        for (const Event& event : block.events) {
          if (event.position != wanted.position) continue;
          for (const Slot& slot : event.slots) {
            const std::string text = slot_text(event, slot);
            if (slot.geometry == nullptr || !matches_glob(slots, text)) continue;
            values.push_back({rank, block.step, fmt::format("{}/{}", event_text, text), slot.digest,
                              *slot.geometry, (slot.flags & slot_flag::no_digest) == 0, false});
          }
        }
        break;
      }
    }
  }
}

void add_layer_values(const Run& run, std::string_view glob, std::vector<StoredValue>& values) {
  for (const std::uint32_t rank : run.ranks()) {
    for (LayerValue& value : run.layer_values(rank)) {
      if (!matches_glob(glob, value.path)) continue;
      // A step in two segments: what was written last applies.
      const bool again =
          !values.empty() && values.back().rank == rank && values.back().path == value.path;
      if (again) values.pop_back();
      values.push_back({rank, value.step, std::move(value.path), value.digest,
                        std::move(value.geometry), true, true});
    }
  }
}

}  // namespace

bool names_event(std::string_view text) { return text.starts_with(kEventPrefix); }

EventName parse_event_name(std::string_view text) {
  const std::string rest(text.substr(kEventPrefix.size()));
  const std::size_t colon = rest.find(':');
  const std::string source(text);
  EventName event;
  try {
    if (colon != std::string::npos) {
      event.lane = static_cast<std::uint32_t>(whole_number(source, rest.substr(0, colon)));
    }
    event.position =
        whole_number(source, ungrouped(colon == std::string::npos ? rest : rest.substr(colon + 1)));
  } catch (const Error&) {
    throw Error(ErrorCode::usage, fmt::format("'{}' names no event", text),
                "events are event:140913, and event:2:140913 on lane 2");
  }
  return event;
}

std::vector<StoredValue> find_values(const Run& run, std::string_view glob) {
  std::vector<StoredValue> values;
  if (names_event(glob)) {
    add_event_values(run, glob, values);
  } else {
    add_layer_values(run, glob, values);
  }
  return values;
}

std::optional<std::vector<std::byte>> row_major_bytes(const Run& run, const StoredValue& value) {
  const auto shape = dump::value_shape(value.geometry);
  if (!shape || !value.has_digest) return std::nullopt;
  auto bytes = run.content(value.rank, value.digest);
  if (!bytes) return std::nullopt;
  if (value.in_row_major_order) {
    return bytes->size() == shape->bytes ? std::move(bytes) : std::nullopt;
  }
  if (bytes->size() != shape->packed_bytes) return std::nullopt;
  if (shape->row_major) return bytes;
  return dump::in_row_major_order(*shape, *bytes);
}

}  // namespace ulpscope::cli
