#include "ulpscope/stored_value.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dump/value_shape.hpp"
#include "ulpscope/error.hpp"
#include "values/tree_glob.hpp"
#include "values/value_name.hpp"

namespace ulpscope {
namespace {

using stored::SlotPath;

std::string slot_text(const Event& event, const Slot& slot) {
  const bool is_list = std::any_of(event.slots.begin(), event.slots.end(), [&](const Slot& other) {
    return other.role == slot.role && other.index == slot.index && other.element != 0;
  });
  const std::string text = fmt::format("{}.{}", name(slot.role), slot.index);
  return is_list ? fmt::format("{}.{}", text, slot.element) : text;
}

bool is_asked_for(const SlotPath& path, const Lane& lane) {
  if (path.lane) return *path.lane == lane.id;
  return path.step || lane.role == LaneRole::main;
}

void add_lane_values(const Run& run, std::uint32_t rank, std::uint32_t lane, const SlotPath& path,
                     std::vector<StoredValue>& values) {
  for (std::size_t i = 0; i < run.block_count(rank, lane); ++i) {
    const Block block = run.block(rank, lane, i);
    if (block.events.empty() || block.events.back().position < path.position) continue;
    for (const Event& event : block.events) {
      if (event.position != path.position || (path.step && *path.step != block.step)) continue;
      for (const Slot& slot : event.slots) {
        const std::string text = slot_text(event, slot);
        if (slot.geometry == nullptr || !stored::matches_glob(path.slots, text)) continue;
        values.push_back({rank, block.step, fmt::format("{}/{}", path.event, text), slot.digest,
                          *slot.geometry, (slot.flags & slot_flag::no_digest) == 0, false});
      }
    }
    break;
  }
}

void add_event_values(const Run& run, const SlotPath& path, std::vector<StoredValue>& values) {
  for (const std::uint32_t rank : run.ranks()) {
    std::vector<Lane> lanes = run.lanes(rank);
    std::stable_partition(lanes.begin(), lanes.end(),
                          [](const Lane& lane) { return lane.role == LaneRole::main; });
    const std::size_t before = values.size();
    for (const Lane& lane : lanes) {
      if (!is_asked_for(path, lane)) continue;
      add_lane_values(run, rank, lane.id, path, values);
      if (lane.role == LaneRole::main && values.size() > before) break;
    }
  }
}

/// A layer's values whose path the predicate takes.
template <class Takes>
void add_layer_values(const Run& run, Takes&& takes, std::vector<StoredValue>& values) {
  for (const std::uint32_t rank : run.ranks()) {
    for (LayerValue& value : run.layer_values(rank)) {
      if (!takes(value.path)) continue;
      // A step in two segments: what was written last applies.
      const bool again =
          !values.empty() && values.back().rank == rank && values.back().path == value.path;
      if (again) values.pop_back();
      values.push_back({rank, value.step, std::move(value.path), value.digest,
                        std::move(value.geometry), true, true});
    }
  }
}

/// How to name one of several values.
[[nodiscard]] std::string how_to_choose(const std::vector<StoredValue>& values, bool of_event) {
  if (values.front().rank != values.back().rank)
    return fmt::format(
        "open one rank: '@rank={}' behind the dump's name, or the selector 'rank={}'",
        values.front().rank, values.front().rank);
  if (of_event && values.front().path == values.back().path)
    return "name the lane, as event:2:140913/output.0";
  return fmt::format("the first is '{}'", values.front().path);
}

}  // namespace

std::vector<StoredValue> find_values(const Run& run, std::string_view glob) {
  std::vector<StoredValue> values;
  if (const auto slots = stored::parse_slot_path(glob)) {
    add_event_values(run, *slots, values);
  } else {
    add_layer_values(
        run, [&](const std::string& path) { return stored::matches_glob(glob, path); }, values);
  }
  return values;
}

StoredValue find_value(const Run& run, std::string_view path) {
  std::vector<StoredValue> values;
  const auto slots = stored::parse_slot_path(path);
  if (slots)
    add_event_values(run, *slots, values);
  else
    add_layer_values(
        run, [&](const std::string& other) { return other == path; }, values);
  if (values.size() == 1) return std::move(values.front());
  if (!values.empty())
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has {} values '{}'", run.info().path, values.size(), path),
                how_to_choose(values, slots.has_value()));
  const bool without_bytes = !slots && run.info().level != "full";
  throw Error(ErrorCode::usage, fmt::format("'{}' has no value '{}'", run.info().path, path),
              without_bytes ? "values of layers are in dumps recorded with --level full"
                            : "ulpscope inspect DUMP \"**\" lists values of layers, and "
                              "ulpscope inspect DUMP 17/140913 those of an event");
}

std::optional<std::vector<std::byte>> row_major_bytes(const Run& run, const StoredValue& value) {
  const auto shape = dump::value_shape(value.geometry);
  if (!shape || !value.has_digest) return std::nullopt;
  const std::uint64_t recorded = value.in_row_major_order ? shape->bytes : shape->packed_bytes;
  if (run.content_size(value.rank, value.digest) != recorded) return std::nullopt;
  auto bytes = run.content(value.rank, value.digest);
  if (!bytes || bytes->size() != recorded) return std::nullopt;
  if (value.in_row_major_order || shape->row_major) return bytes;
  return dump::in_row_major_order(*shape, *bytes);
}

}  // namespace ulpscope
