#include "compare/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "compare/kernels.hpp"
#include "compare/module_place.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kTensorsListed = 64;

[[nodiscard]] std::string nth_name(std::string_view joined, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t comma = joined.find(',');
    if (comma == std::string_view::npos) return {};
    joined.remove_prefix(comma + 1);
  }
  return std::string(joined.substr(0, joined.find(',')));
}

[[nodiscard]] std::string device_of(const Event& event) {
  for (const Slot& slot : event.slots) {
    if (slot.geometry == nullptr) continue;
    const std::string type = slot.geometry->device_type == 0   ? "cpu"
                             : slot.geometry->device_type == 1 ? "cuda"
                                                               : "device";
    return slot.geometry->device_index < 0
               ? type
               : fmt::format("{}:{}", type, slot.geometry->device_index);
  }
  return {};
}

[[nodiscard]] std::string module_words(const Event& event) {
  return std::string(event.module.empty() ? event.root : event.module);
}

/// Names of the nearest modules before and after an event; empty if there are none.
[[nodiscard]] Both<std::string> neighbours_by_module(const Window& window, std::uint32_t at) {
  Both<std::string> names;
  for (std::uint32_t index = at; index-- > 0;) {
    if (!window.event(index).has_module || window.end(index) > at) continue;
    names.reference = module_words(window.event(index));
    break;
  }
  for (std::uint32_t index = window.end(at); index < window.size(); ++index) {
    if (!window.event(index).has_module) continue;
    names.candidate = module_words(window.event(index));
    break;
  }
  return names;
}

/// The node around an event that names the forward op it belongs to; kNoIndex if there is none.
[[nodiscard]] std::uint32_t linked_node(const Window& window, std::uint32_t event) {
  const auto is_linked = [](const Event& current) {
    return current.forward != kNone &&
           (current.kind == EventKind::node || current.kind == EventKind::module_gradient);
  };
  while (event != kNoIndex && !is_linked(window.event(event))) event = window.parent(event);
  return event;
}

/// The forward op of a backward event, if it is in the same window.
[[nodiscard]] std::uint32_t near_forward(const Scene& scene, Side side, std::uint32_t event) {
  const Window& window = *on(scene.windows, side);
  const std::uint32_t node = linked_node(window, event);
  if (node == kNoIndex || window.event(node).forward_lane != on(scene.lanes, side)->id)
    return kNoIndex;
  return window.find(window.event(node).forward);
}

/// What the calls around an op, or around the forward op of a backward one, show beyond `name`.
[[nodiscard]] ModuleName narrowed(const Scene& scene, Side side, std::uint32_t event,
                                  ModuleName name) {
  const Window& window = *on(scene.windows, side);
  if (window.event(event).kind != EventKind::op) return name;
  const bool backward = window.event(event).flags & event_flag::in_backward;
  const std::uint32_t op = backward ? near_forward(scene, side, event) : event;
  if (op == kNoIndex || window.event(op).module != name.path) return name;
  const std::optional<ModulePlace> place = place_in_call(window, op);
  if (!place) return name;
  name.between = place->between;
  name.known = place->module.has_value();
  if (name.known && *place->module == name.path) return name;
  name.path = place->module.value_or("");
  name.type.clear();
  return name;
}

/// "train.cpp:41", from the innermost call of the program that is known around an event.
[[nodiscard]] std::string program_line(const Scene& scene, Side side, std::uint32_t event) {
  const Window& window = *on(scene.windows, side);
  for (std::uint32_t up = event; up != kNoIndex; up = window.parent(up))
    if (!window.event(up).stack.empty()) return place_in_program(window.event(up).stack);
  const HeldEvent forward = forward_of(scene, side, event);
  return forward.event == nullptr ? std::string() : place_in_program(forward.event->stack);
}

}  // namespace

std::vector<std::string> callers(const Window& window, std::uint32_t event) {
  std::vector<std::string> names;
  for (std::uint32_t up = window.parent(event); up != kNoIndex; up = window.parent(up)) {
    const EventKind kind = window.event(up).kind;
    if (kind == EventKind::op || kind == EventKind::node || kind == EventKind::gradient)
      names.emplace_back(window.event(up).op);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

std::uint8_t lane_order(const Lane& lane, const Event& event) noexcept {
  if (event.flags & event_flag::in_backward) return 1;
  return static_cast<std::uint8_t>(lane.role);
}

std::string lane_words(const Lane& lane, const Event& event) {
  if (event.flags & event_flag::in_backward && lane.role != LaneRole::trainer) return "autograd";
  switch (lane.role) {
    case LaneRole::main:
      return "main";
    case LaneRole::autograd:
      return "autograd";
    case LaneRole::worker:
      return fmt::format("worker {}", lane.ordinal);
    case LaneRole::thread:
      return fmt::format("thread {}", lane.ordinal);
    case LaneRole::trainer:
      return fmt::format("trainer {}", lane.ordinal);
  }
  return {};
}

EventPlace forward_place(const Window& window, std::uint32_t event) {
  const std::uint32_t node = linked_node(window, event);
  if (node == kNoIndex) return {};
  return {window.event(node).forward_lane, window.event(node).forward};
}

HeldEvent forward_of(const Scene& scene, Side side, std::uint32_t event) {
  const Window& window = *on(scene.windows, side);
  if (const std::uint32_t near = near_forward(scene, side, event); near != kNoIndex)
    return {&window.event(near), nullptr};
  return find_event(*on(scene.runs, side), on(scene.ranks, side), forward_place(window, event));
}

ModuleName module_of(const Scene& scene, Side side, std::uint32_t event) {
  const auto from = [](const Event& named) {
    return ModuleName{true, std::string(named.root), std::string(named.module),
                      std::string(named.module_type), std::nullopt};
  };
  const Window& window = *on(scene.windows, side);
  for (std::uint32_t up = event; up != kNoIndex; up = window.parent(up))
    if (window.event(up).has_module) return narrowed(scene, side, event, from(window.event(up)));
  const HeldEvent forward = forward_of(scene, side, event);
  if (forward.event != nullptr && forward.event->has_module)
    return narrowed(scene, side, event, from(*forward.event));
  return {};
}

std::vector<std::string> inner_names(const Window& window, std::uint32_t event) {
  std::vector<std::uint32_t> ops;
  window.inner_ops(event, ops);
  std::vector<std::string> names;
  for (const std::uint32_t op : ops) names.emplace_back(window.event(op).op);
  return names;
}

std::string place_in_program(std::string_view stack) {
  constexpr std::array<std::string_view, 4> kLibraries{"torch::", "at::", "c10::", "std::"};
  std::string_view innermost;
  while (!stack.empty()) {
    const std::string_view call = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(call.size() + 1, stack.size()));
    const std::size_t blank = std::min(call.find(' '), call.size());
    const std::string_view place = call.substr(0, blank);
    const std::string_view function = call.substr(std::min(blank + 1, call.size()));
    if (innermost.empty()) innermost = place;
    const bool of_a_library =
        std::any_of(kLibraries.begin(), kLibraries.end(),
                    [function](std::string_view library) { return function.starts_with(library); });
    if (!of_a_library) return std::string(place);
  }
  return std::string(innermost);
}

Finding describe(FindingKind kind, const Scene& scene, EventPair at) {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(index);

  Finding finding;
  finding.kind = kind;
  finding.rank = on(scene.ranks, side);
  finding.lane = lane_words(*on(scene.lanes, side), event);
  if (scene.step != kSetup) finding.step = scene.step;
  finding.phase = event.phase;
  finding.op = event.op;
  finding.overload = event.overload;
  finding.parents = callers(window, index);
  finding.device = device_of(event);
  const ModuleName module = module_of(scene, side, index);
  finding.root = module.root;
  finding.between = module.between;
  if (module.known) {
    finding.module = module.path;
    finding.module_type = module.type;
  } else if (const auto between = neighbours_by_module(window, index);
             !module.between && (!between.reference.empty() || !between.candidate.empty())) {
    finding.between = between;
  }
  if (const HeldEvent forward = forward_of(scene, side, index); forward.event != nullptr)
    finding.forward_op = forward.event->op;
  finding.where = program_line(scene, side, index);
  for (const Side one : kSides) {
    const std::uint32_t own = one == Side::reference ? at.reference : at.candidate;
    if (own == kNoIndex) continue;
    const std::uint64_t position = on(scene.windows, one)->event(own).position;
    on(finding.event, one) = position;
    on(finding.children, one) = inner_names(*on(scene.windows, one), own);
    on(finding.kernels, one) = kernels_of(*on(scene.runs, one), on(scene.ranks, one),
                                          {on(scene.lanes, one)->id, position});
  }
  return finding;
}

std::string tensor_name(const Event& event, const Slot& slot) {
  if (!slot.name.empty()) return std::string(slot.name);
  std::string name =
      nth_name(slot.role == Role::output ? event.return_names : event.argument_names, slot.index);
  if (slot.element > 0 && !name.empty()) name += fmt::format("[{}]", slot.element);
  return name;
}

ReportedTensor reported(const SlotPair& pair) {
  ReportedTensor tensor;
  tensor.report.role = pair.role();
  tensor.report.index = pair.any().index;
  tensor.report.element = pair.any().element;
  tensor.report.name = tensor_name(*pair.owner, pair.any());
  tensor.report.equal = !is_difference(pair.match);
  tensor.evidence.compared = was_compared(pair.match);
  for (const Side side : kSides) {
    const Slot* slot = side == Side::reference ? pair.reference : pair.candidate;
    if (slot == nullptr) continue;
    on(tensor.evidence.digest, side) = slot->digest;
    on(tensor.evidence.flags, side) = slot->flags;
    on(tensor.evidence.alignment, side) = slot->alignment;
    if (slot->geometry == nullptr) continue;
    on(tensor.evidence.geometry, side) = *slot->geometry;
    on(tensor.report.shape, side) = slot->geometry->sizes;
    if (tensor.report.dtype == Dtype::undefined) tensor.report.dtype = slot->geometry->dtype;
  }
  return tensor;
}

void add_tensors(Record& record, const std::vector<SlotPair>& slots) {
  const auto add = [&](const SlotPair& pair) {
    ReportedTensor tensor = reported(pair);
    record.finding.tensors.push_back(std::move(tensor.report));
    record.evidence.tensors.push_back(std::move(tensor.evidence));
  };
  const auto listed = [](const SlotPair& pair) {
    return is_difference(pair.match) || was_compared(pair.match);
  };
  const auto count = static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), listed));
  const bool only_differing = count > kTensorsListed;
  std::size_t left_out = 0;
  for (const SlotPair& pair : slots) {
    if (!listed(pair)) continue;
    if (record.finding.tensors.size() < kTensorsListed &&
        (!only_differing || is_difference(pair.match)))
      add(pair);
    else
      ++left_out;
  }
  if (left_out > 0)
    record.finding.notes.push_back(fmt::format("{} more tensors are not listed", left_out));
}

}  // namespace ulpscope::comparison
