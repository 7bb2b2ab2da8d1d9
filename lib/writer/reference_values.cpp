#include "writer/reference_values.hpp"

#include <algorithm>

#include "writer/compared_values.hpp"

namespace ulpscope::writer {
namespace {

/// A thread may be a step behind another.
constexpr std::int64_t kStepsBehind = 1;
/// When a step begins is known only while it runs.
constexpr std::int64_t kStepsAhead = 2;

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
  for_each_value(messages, [&](std::uint64_t position, const ring::SlotRow& slot) {
    if (lacks) return;
    move_up_to(position);
    const bool logical = (slot.flags & slot_flag::logical) != 0;
    lacks = !digests_.has(slot.digest[1]) && !(logical && digests_.has(slot.logical[1]));
  });
  return lacks && std::none_of(values_.begin(), values_.end(),
                               [this](const auto& step) { return step.second > most_values_; });
}

void ReferenceValues::move_to(const BegunSteps& steps) {
  digests_.forget_before(steps.before - kStepsBehind);
  values_.erase(values_.begin(), values_.lower_bound(steps.before - kStepsBehind));
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
  read_ = step;
  for (LanePlace& lane : lanes_) {
    for (; lane.next < lane.count; ++lane.next) {
      const Block block = run_.block(lane.rank, lane.lane, lane.next);
      if (block.step > step) break;
      add(block);
      if (!block.events.empty())
        read_position_ = std::max(read_position_, block.events.back().position);
    }
  }
}

void ReferenceValues::add(const Block& block) {
  std::size_t& values = values_[block.step];
  for (const Event& event : block.events) {
    if (!has_values_in_time(event.kind)) continue;
    for (const Slot& slot : event.slots) {
      if ((slot.flags & (slot_flag::undefined | slot_flag::no_digest)) != 0) continue;
      if (++values > most_values_) continue;
      digests_.put(slot.digest.low, block.step);
      if ((slot.flags & slot_flag::logical) != 0) digests_.put(slot.logical_digest.low, block.step);
    }
  }
}

std::size_t ReferenceValues::held() const {
  std::size_t all = 0;
  for (const auto& [step, values] : values_) all += values;
  return all;
}

}  // namespace ulpscope::writer
