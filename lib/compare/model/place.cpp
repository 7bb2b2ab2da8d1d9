#include "compare/model/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compare/model/module_place.hpp"
#include "core/torch_names.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::string module_words(const Event& event) {
  return std::string(event.module.empty() ? event.root : event.module);
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

bool shares_work(const Lane& lane) noexcept {
  return lane.role == LaneRole::worker || lane.role == LaneRole::thread ||
         (lane.role == LaneRole::main && lane.ordinal > 0);
}

std::string lane_name(const Lane& lane) {
  switch (lane.role) {
    case LaneRole::main:
      return "main";
    case LaneRole::autograd:
      return lane.ordinal == 0 ? "autograd" : fmt::format("autograd {}", lane.ordinal);
    case LaneRole::worker:
      return fmt::format("worker {}", lane.ordinal);
    case LaneRole::thread:
      return fmt::format("thread {}", lane.ordinal);
    case LaneRole::trainer:
      return fmt::format("trainer {}", lane.ordinal);
  }
  return "thread";
}

std::string lane_words(const Lane& lane, const Event& event) {
  const bool is_backward = (event.flags & event_flag::in_backward) != 0;
  const bool is_engines = lane.role == LaneRole::autograd;
  return is_engines || (is_backward && lane.role != LaneRole::trainer) ? "autograd"
                                                                       : lane_name(lane);
}

std::uint32_t linked_node(const Window& window, std::uint32_t event) {
  const auto is_linked = [](const Event& current) {
    return current.forward != kNone &&
           (current.kind == EventKind::node || current.kind == EventKind::module_gradient);
  };
  while (event != kNoIndex && !is_linked(window.event(event))) event = window.parent(event);
  return event;
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
  // What a file holds is the program's choice, whichever module owns it.
  const bool saves = window.event(event).op == kSave;
  const std::uint32_t first = saves ? window.parent(event) : event;
  for (std::uint32_t up = first; up != kNoIndex; up = window.parent(up))
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

namespace {

/// A call, "train.cpp:41 main()", behind which tabs may separate the text of the line and the
/// directory of the file.
[[nodiscard]] ProgramLine line_of(std::string_view call) {
  const auto next = [&call](std::string_view ends) {
    const std::string_view taken = call.substr(0, call.find_first_of(ends));
    call.remove_prefix(std::min(taken.size() + 1, call.size()));
    return std::string(taken);
  };
  const std::size_t tab = std::min(call.find('\t'), call.size());
  ProgramLine line;
  line.place = call.substr(0, std::min(call.find(' '), tab));
  call.remove_prefix(std::min(tab + 1, call.size()));
  line.source = next("\t");
  if (const std::string directory = next("\t"); directory == ".")
    line.file = line.place.substr(0, line.place.rfind(':'));
  else if (!directory.empty())
    line.file = directory + "/" + line.place.substr(0, line.place.rfind(':'));
  return line;
}

/// "std::thread::join" of "void std::thread::join()": a template's name begins with what it
/// returns.
[[nodiscard]] std::string_view without_result(std::string_view function) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < function.size(); ++at) {
    const char letter = function[at];
    if (letter == '<') ++depth;
    if (letter == '>') --depth;
    if (depth > 0) continue;
    if (letter == '(' || letter == '{' || letter == '\t') break;
    if (letter == ' ') begin = at + 1;
  }
  return function.substr(begin);
}

}  // namespace

std::vector<StackCall> stack_calls(std::string_view stack) {
  std::vector<StackCall> calls;
  while (!stack.empty()) {
    const std::string_view call = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(call.size() + 1, stack.size()));
    const std::string_view words = call.substr(0, call.find('\t'));
    const std::size_t blank = std::min(words.find(' '), words.size());
    calls.push_back({line_of(call), std::string(words.substr(std::min(blank + 1, words.size())))});
  }
  return calls;
}

ProgramLine place_in_program(std::string_view stack) {
  constexpr std::array<std::string_view, 4> kLibraries{"torch::", "at::", "c10::", "std::"};
  ProgramLine innermost;
  while (!stack.empty()) {
    const std::string_view call = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(call.size() + 1, stack.size()));
    const std::size_t blank = std::min(call.find_first_of(" \t"), call.size());
    const std::string_view function = without_result(call.substr(std::min(blank + 1, call.size())));
    const ProgramLine line = line_of(call);
    if (innermost.place.empty()) innermost = line;
    const bool of_a_library =
        std::any_of(kLibraries.begin(), kLibraries.end(),
                    [function](std::string_view library) { return function.starts_with(library); });
    if (!of_a_library) return line;
  }
  return innermost;
}

std::string tensor_name(const Event& event, const Slot& slot) {
  if (!slot.name.empty()) return std::string(slot.name);
  std::string name(core::nth_name(
      slot.role == Role::output ? event.return_names : event.argument_names, slot.index));
  if (slot.element > 0 && !name.empty()) name += fmt::format("[{}]", slot.element);
  return name;
}

Both<std::string> neighbours_by_module(const Window& window, std::uint32_t at) {
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

ProgramLine program_line(const Scene& scene, Side side, std::uint32_t event) {
  const Window& window = *on(scene.windows, side);
  const std::uint32_t near = near_forward(scene, side, event);
  for (const std::uint32_t from : {near, event})
    for (std::uint32_t up = from; up != kNoIndex; up = window.parent(up))
      if (!window.event(up).stack.empty()) return place_in_program(window.event(up).stack);
  const HeldEvent forward = forward_of(scene, side, event);
  return forward.event == nullptr ? ProgramLine() : place_in_program(forward.event->stack);
}

}  // namespace ulpscope::comparison
