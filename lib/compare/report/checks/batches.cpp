#include "compare/report/checks/batches.hpp"

#include <algorithm>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// Tensors that are not part of a batch, or whose content was not recorded. Memory that no recorded
/// op wrote may be one: programs fill it through a pointer.
constexpr std::uint32_t kNoData =
    slot_flag::undefined | slot_flag::no_digest | slot_flag::parameter | slot_flag::buffer |
    slot_flag::gradient | slot_flag::requires_grad | slot_flag::wrapped_number | slot_flag::handle |
    slot_flag::opaque | slot_flag::overwritten | slot_flag::metadata_only | slot_flag::scratch;

[[nodiscard]] bool is_training(const Event& event) {
  return event.phase == Phase::backward || event.kind == EventKind::optimizer;
}

}  // namespace

/// Values that the training itself computed, such as a state carried from step to step, are not
/// batches.
bool BatchCollector::comes_from_outside(const Slot& slot, std::uint32_t lane) const {
  if (slot.writer == kNone || slot.writer_lane != lane) return true;
  const auto& stretches = lanes_.at(lane).stretches;
  const auto after = std::upper_bound(
      stretches.begin(), stretches.end(), slot.writer,
      [](std::uint64_t position, const Stretch& one) { return position < one.first_position; });
  if (after == stretches.begin()) return true;
  const Phase phase = std::prev(after)->phase;
  return phase == Phase::setup || phase == Phase::data || phase == Phase::eval;
}

void BatchCollector::read(const Event& event, std::uint32_t lane, Step& step) const {
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::input || (slot.flags & kNoData) != 0 || slot.geometry == nullptr)
      continue;
    if (!comes_from_outside(slot, lane)) continue;
    KeyHash key;
    key.add(slot.digest);
    for (const std::int64_t size : slot.geometry->sizes) key.add(static_cast<std::uint64_t>(size));
    step.values.insert(key.value());
    if (!step.samples && !slot.geometry->sizes.empty()) step.samples = slot.geometry->sizes.front();
  }
}

void BatchCollector::see(const Lane& lane, const Block& block) {
  LaneState& state = lanes_[lane.id];
  for (const Event& event : block.events) {
    if (state.stretches.empty() || state.stretches.back().phase != event.phase)
      state.stretches.push_back({event.position, event.phase});
    const bool nested = state.nesting.enter(event);
    if (block.step == kSetup) continue;
    Step& step = open_[block.step];
    step.trains = step.trains || is_training(event);
    const bool reads = event.kind == EventKind::op || event.kind == EventKind::module;
    if (reads && !nested && event.phase == Phase::forward) read(event, lane.id, step);
  }
}

std::vector<Batch> BatchCollector::take() const {
  std::vector<Batch> batches;
  for (const auto& [number, step] : open_) {
    if (!step.trains) continue;
    KeyHash content;
    for (const std::uint64_t value : step.values) content.add(value);
    batches.push_back({number, step.values.empty() ? 0 : content.value(), step.samples});
  }
  return batches;
}

}  // namespace ulpscope::comparison
