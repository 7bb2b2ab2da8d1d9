#include "cli/render/event_json.hpp"

#include <string>

#include "cli/render/event_words.hpp"
#include "cli/render/value_text.hpp"
#include "compare/model/place.hpp"
#include "core/torch_names.hpp"

namespace ulpscope::cli {
namespace {

Json ids(const std::vector<Word>& words) {
  return list(words, [](const Word& word) { return Json(word.id); });
}

/// An event that another one refers to.
Json reference_json(std::uint32_t lane, std::uint64_t position) {
  if (position == kNone) return nullptr;
  return {{"lane", lane}, {"event", integer(position)}};
}

Json slot_json(const Event& event, const Slot& slot) {
  const bool hashed = (slot.flags & (slot_flag::undefined | slot_flag::no_digest)) == 0;
  return {{"role", name(slot.role)},
          {"index", slot.index},
          {"element", slot.element},
          {"name", slot_name(event, slot)},
          {"tensor", slot.geometry == nullptr ? Json(nullptr) : geometry_json(*slot.geometry)},
          {"digest", hashed ? Json(to_string(slot.digest)) : Json(nullptr)},
          {"state", ids(slot_states(slot.flags))},
          {"written_by", reference_json(slot.writer_lane, slot.writer)}};
}

Json argument_value_json(const Argument& argument) {
  return {{"index", argument.index},
          {"result", argument.result},
          {"name", argument.name},
          {"value", argument.text}};
}

Json random_json(const Event& event) {
  if ((event.flags & event_flag::seeded) == 0) return nullptr;
  return {{"seed", integer(event.rng.seed)},
          {"before", to_string(event.rng.before)},
          {"after", to_string(event.rng.after)}};
}

Json call_json(const comparison::StackCall& call) {
  return {{"where", call.line.place},
          {"function", known(call.function)},
          {"file", known(call.line.file)},
          {"source", known(call.line.source)}};
}

Json statistics_json(const Statistics& statistics) {
  return {{"min", real(statistics.min)},      {"max", real(statistics.max)},
          {"mean", real(statistics.mean)},    {"l2", real(statistics.l2)},
          {"nan", integer(statistics.nan)},   {"inf", integer(statistics.inf)},
          {"zero", integer(statistics.zero)}, {"subnormal", integer(statistics.subnormal)}};
}

Json value_parts(const StoredValue& value, Json statistics, Json elements) {
  return {{"rank", value.rank},
          {"step", step_json(value.step)},
          {"path", value.path},
          {"tensor", geometry_json(value.geometry)},
          {"digest", value.has_digest ? Json(to_string(value.digest)) : Json(nullptr)},
          {"statistics", std::move(statistics)},
          {"elements", std::move(elements)}};
}

}  // namespace

Json geometry_json(const Geometry& geometry) {
  const bool has_strides = !geometry.strides.empty() || geometry.sizes.empty();
  return {{"dtype", name(geometry.dtype)},
          {"shape", sizes_json(geometry.sizes)},
          {"layout", core::layout_name(geometry.layout)},
          {"strides", has_strides ? sizes_json(geometry.strides) : Json(nullptr)},
          {"offset", integer(geometry.storage_offset)},
          {"conj", (geometry.flags & geometry_flag::conj) != 0},
          {"neg", (geometry.flags & geometry_flag::neg) != 0},
          {"device", core::device_name(geometry.device_type, geometry.device_index)}};
}

Json event_json(const LocatedEvent& located) {
  const Event& event = located.event;
  return {{"rank", located.rank},
          {"lane", located.lane.id},
          {"step", step_json(located.step)},
          {"event", integer(event.position)},
          {"kind", kind_word(event.kind).id},
          {"phase", name(event.phase)},
          {"op", event.op},
          {"overload", event.overload},
          {"depth", event.depth},
          {"called_by", event.parent == kNone ? Json(nullptr) : integer(event.parent)},
          {"forward", reference_json(event.forward_lane, event.forward)},
          {"root", known(event.root)},
          {"module", event.has_module ? Json(event.module) : Json(nullptr)},
          {"module_type", known(event.module_type)},
          {"threads", event.threads},
          {"state", ids(event_states(event.flags))},
          {"random", random_json(event)},
          {"stack", list(comparison::stack_calls(event.stack), call_json)},
          {"arguments", list(arguments(event), argument_value_json)},
          {"tensors",
           list(event.slots, [&event](const Slot& slot) { return slot_json(event, slot); })}};
}

Json value_json(const StoredValue& value) { return value_parts(value, nullptr, nullptr); }

Json value_json(const StoredValue& value, const std::optional<Statistics>& recorded,
                const std::optional<std::vector<std::byte>>& bytes) {
  const Dtype dtype = value.geometry.dtype;
  const auto statistics = recorded || !bytes ? recorded : statistics_of(dtype, *bytes);
  const auto elements = [dtype](const std::vector<std::byte>& content) {
    return list(first_elements(dtype, content), decimal);
  };
  return value_parts(value, optional(statistics, statistics_json), optional(bytes, elements));
}

}  // namespace ulpscope::cli
