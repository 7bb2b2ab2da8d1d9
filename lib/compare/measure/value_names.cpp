#include "compare/measure/value_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compare/model/place.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool leaves(const Event& event, const Slot& slot) {
  return std::any_of(event.slots.begin(), event.slots.end(), [&](const Slot& left) {
    return left.role != Role::input && left.storage == slot.storage && left.digest == slot.digest;
  });
}

[[nodiscard]] std::string place_of(const Event& event, const Slot& slot) {
  const std::string name = tensor_name(event, slot);
  if (!name.empty()) return name;
  return fmt::format("{} {}", slot.role == Role::output ? "out" : "in", slot.index);
}

}  // namespace

ValueNames names_of(const Scene& scene, EventPair at, const SlotPair& slot) {
  const Window& window = *scene.windows.reference;
  ValueNames names;
  names.ops = callers(window, at.reference);
  const Event& event = window.event(at.reference);
  names.ops.emplace_back(event.op);
  names.event = event.position;
  names.op = event.op;
  names.tensor = place_of(event, *slot.reference);
  if (slot.role() != Role::input)
    for (std::uint32_t inner = at.reference + 1; inner < window.end(at.reference); ++inner)
      if (leaves(window.event(inner), *slot.reference))
        names.ops.emplace_back(window.event(inner).op);
  const ModuleName module = module_of(scene, Side::reference, at.reference);
  if (module.known) names.module = module.path;
  return names;
}

ValueNames names_of(const Finding& finding) {
  ValueNames names;
  names.ops = finding.parents;
  names.module = finding.module;
  names.ops.push_back(finding.op);
  return names;
}

}  // namespace ulpscope::comparison
