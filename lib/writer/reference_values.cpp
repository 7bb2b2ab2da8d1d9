#include "writer/reference_values.hpp"

#include <algorithm>

#include "writer/compared_values.hpp"

namespace ulpscope::writer {
namespace {

/// A thread that follows another one's steps may be a step behind.
constexpr std::int64_t kStepsBehind = 1;
/// One that has steps of its own, or another process, may be so many; one that is further behind
/// may have ended.
constexpr std::int64_t kMostStepsBehind = 64;
/// When a step begins is known only while it runs.
constexpr std::int64_t kStepsAhead = 2;

}  // namespace

ReferenceValues::ReferenceValues(const Run& run, const std::vector<std::uint32_t>& ranks,
                                 std::size_t most_values)
    : run_(run), most_values_(most_values) {
  for (const std::uint32_t rank : ranks)
    for (const Lane& lane : run.lanes(rank)) {
      const std::size_t count = run.block_count(rank, lane.id);
      if (count == 0) continue;
      lanes_.push_back({rank, lane.id, 0, count});
      last_step_ = std::max(last_step_, run.block(rank, lane.id, count - 1).step);
    }
}

bool ReferenceValues::lack_one_of(const Written& written) {
  if (lanes_.empty() || written.steps.after > last_step_) return false;
  move_to(written);
  bool lacks = false;
  for_each_value(written.messages, [&](std::uint64_t position, const ring::SlotRow& slot) {
    if (lacks) return;
    move_up_to(position);
    const bool logical = (slot.flags & slot_flag::logical) != 0;
    lacks = !digests_.has(slot.digest[1]) && !(logical && digests_.has(slot.logical[1]));
  });
  return lacks && std::none_of(values_.begin(), values_.end(),
                               [this](const auto& step) { return step.second > most_values_; });
}

void ReferenceValues::move_to(const Written& written) {
  begun_[{written.process, written.trainer}] = written.steps.before;
  std::int64_t slowest = written.steps.before;
  std::int64_t fastest = written.steps.before;
  for (const auto& [trainer, begun] : begun_) {
    slowest = std::min(slowest, begun);
    fastest = std::max(fastest, begun);
  }
  const std::int64_t first = std::max(slowest, fastest - kMostStepsBehind) - kStepsBehind;
  digests_.forget_before(first);
  values_.erase(values_.begin(), values_.lower_bound(first));
  read_until(written.steps.after + kStepsAhead);
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

std::vector<std::uint32_t> possible_partners(const Run& run, const RankIdentity& identity) {
  std::vector<std::uint32_t> ranks = run.ranks();
  if (ranks.size() == 1) return ranks;
  std::erase_if(ranks, [&](std::uint32_t rank) {
    const RankIdentity other = run.identity(rank);
    if (!other.known || !identity.known) return false;
    if (identity.declared.empty() || other.declared.empty())
      return identity.declared.empty() != other.declared.empty();
    return other.rank != identity.rank || other.restart != identity.restart;
  });
  return ranks;
}

}  // namespace ulpscope::writer
