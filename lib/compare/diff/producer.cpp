#include "compare/diff/producer.hpp"

#include <fmt/format.h>

#include "compare/diff/finding_writer.hpp"

namespace ulpscope::comparison {

HeldEvent outermost_op(const Run& run, std::uint32_t rank, EventPlace place) {
  HeldEvent outermost;
  while (true) {
    const HeldEvent up = find_event(run, rank, place);
    if (up.event == nullptr) return outermost;
    if (up.event->kind == EventKind::op) outermost = up;
    if (up.event->parent >= place.position) return outermost;
    place.position = up.event->parent;
  }
}

namespace {

[[nodiscard]] std::uint32_t outermost_of(const Window& window, std::uint32_t index) {
  std::uint32_t outermost = index;
  for (std::uint32_t up = index; up != kNoIndex; up = window.parent(up))
    if (window.event(up).kind == EventKind::op) outermost = up;
  return outermost;
}

}  // namespace

HeldEvent outermost_writer(const Scene& scene, Side side, const Slot& slot) {
  const std::uint32_t index = writer_in_window(scene, side, slot);
  if (index == kNoIndex)
    return outermost_op(*on(scene.runs, side), on(scene.ranks, side),
                        {slot.writer_lane, slot.writer});
  const Window& window = *on(scene.windows, side);
  return window.held(outermost_of(window, index));
}

OpPlace producer(const Scene& scene, Side side, const Slot& slot) {
  if (const std::uint32_t index = writer_in_window(scene, side, slot); index != kNoIndex)
    return outermost_around(scene, side, index);
  const HeldEvent writer = outermost_writer(scene, side, slot);
  return writer.event == nullptr
             ? OpPlace{}
             : OpPlace{std::string(writer.event->op), {}, writer.event->position};
}

OpPlace outermost_around(const Scene& scene, Side side, std::uint32_t index) {
  const Window& window = *on(scene.windows, side);
  index = outermost_of(window, index);
  const ModuleName module = module_of(scene, side, index);
  const std::string& name = module.path.empty() ? module.root : module.path;
  return {std::string(window.event(index).op), module.known ? name : std::string(),
          window.event(index).position};
}

std::string words(const OpPlace& of) {
  return of.module.empty() ? fmt::format("{}, event {}", of.op, of.event)
                           : fmt::format("{}, {}, event {}", of.op, of.module, of.event);
}

}  // namespace ulpscope::comparison
