#include "writer/reference_values.hpp"

#include <algorithm>

#include "ring/message.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

/// A thread may be a step behind another.
constexpr std::int64_t kStepsBehind = 1;
/// When a step begins is known only while it runs.
constexpr std::int64_t kStepsAhead = 2;

constexpr std::uint32_t kNotCompared = slot_flag::undefined | slot_flag::no_digest |
                                       slot_flag::uninitialised | slot_flag::overwritten |
                                       slot_flag::scratch | slot_flag::handle | slot_flag::opaque |
                                       slot_flag::metadata_only;

[[nodiscard]] bool is_compared(EventKind kind) { return kind != EventKind::outcome; }

}  // namespace

ReferenceValues::ReferenceValues(const Run& run, std::size_t most_values)
    : run_(run), most_values_(most_values) {
  for (const std::uint32_t rank : run.ranks())
    for (const Lane& lane : run.lanes(rank)) {
      const std::size_t count = run.block_count(rank, lane.id);
      if (count == 0) continue;
      lanes_.push_back({rank, lane.id, 0, count});
      last_step_ = std::max(last_step_, run.block(rank, lane.id, count - 1).step);
    }
}

bool ReferenceValues::lack_one_of(const BegunSteps& steps, std::span<const std::byte> messages) {
  if (steps.after > last_step_) return false;
  move_to(steps);
  bool lacks = false;
  for_each_message(messages, [&](std::span<const std::byte> message) {
    if (lacks || kind_of(message) != ring::MessageKind::event) return;
    const auto event = read_row<ring::EventRow>(message);
    if (!event || !is_compared(static_cast<EventKind>(event->kind))) return;
    move_up_to(event->position);
    std::span<const std::byte> slots = message.subspan(sizeof *event);
    for (std::uint16_t k = 0; k < event->slots; ++k) {
      const auto slot = read_row<ring::SlotRow>(slots);
      if (!slot) return;
      slots = slots.subspan(sizeof *slot);
      if ((slot->flags & kNotCompared) != 0 || has(slot->digest[1])) continue;
      if ((slot->flags & slot_flag::logical) != 0 && has(slot->logical[1])) continue;
      lacks = true;
      return;
    }
  });
  return lacks;
}

void ReferenceValues::move_to(const BegunSteps& steps) {
  steps_.erase(steps_.begin(), steps_.lower_bound(steps.before - kStepsBehind));
  read_until(steps.after + kStepsAhead);
}

/// Messages that came together may be of many steps, of which it is known only later that they have
/// begun.
void ReferenceValues::move_up_to(std::uint64_t position) {
  while (read_position_ < position && read_ < last_step_ && held() < most_values_)
    read_until(read_ + 1);
}

void ReferenceValues::read_until(std::int64_t step) {
  if (step <= read_) return;
  const std::int64_t from = read_ + 1;
  read_ = step;
  for (LanePlace& lane : lanes_) {
    for (; lane.next < lane.count; ++lane.next) {
      const Block block = run_.block(lane.rank, lane.lane, lane.next);
      if (block.step > step) break;
      add(block, steps_[block.step]);
      if (!block.events.empty())
        read_position_ = std::max(read_position_, block.events.back().position);
    }
  }
  for (auto of_step = steps_.lower_bound(from); of_step != steps_.end(); ++of_step) {
    std::vector<std::uint64_t>& digests = of_step->second.digests;
    std::sort(digests.begin(), digests.end());
    digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  }
}

void ReferenceValues::add(const Block& block, Step& step) const {
  for (const Event& event : block.events) {
    if (!is_compared(event.kind)) continue;
    for (const Slot& slot : event.slots) {
      if ((slot.flags & (slot_flag::undefined | slot_flag::no_digest)) != 0) continue;
      step.digests.push_back(slot.digest.low);
      if ((slot.flags & slot_flag::logical) != 0) step.digests.push_back(slot.logical_digest.low);
    }
    if (step.digests.size() > most_values_) step.all = true;
    if (step.all) step.digests.clear();
  }
}

std::size_t ReferenceValues::held() const {
  std::size_t values = 0;
  for (const auto& [number, step] : steps_) values += step.digests.size();
  return values;
}

bool ReferenceValues::has(std::uint64_t digest) const {
  return std::any_of(steps_.begin(), steps_.end(), [digest](const auto& entry) {
    const Step& step = entry.second;
    return step.all || std::binary_search(step.digests.begin(), step.digests.end(), digest);
  });
}

}  // namespace ulpscope::writer
