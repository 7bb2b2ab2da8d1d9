#include "compare/diff/outcomes/run_outcomes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostExchanged = 64;

/// Position in a block where what a run or its last task leaves begins.
[[nodiscard]] std::uint64_t last_end(const Block& block) {
  std::uint64_t last = kNone;
  for (const Event& event : block.events)
    if (event.kind == EventKind::outcome && is_end(event.op) && event.flags & event_flag::seeded)
      last = event.position;
  return last;
}

[[nodiscard]] bool is_before(const Event& event, std::uint64_t position) {
  return position != kNone && event.position < position;
}

/// Position of the last op in a block that no other op calls, views aside.
[[nodiscard]] std::uint64_t last_op(const Block& block) {
  std::set<std::uint64_t> ops;
  std::uint64_t last = kNone;
  for (const Event& event : block.events) {
    if (event.kind != EventKind::op) continue;
    ops.insert(event.position);
    if (!ops.contains(event.parent) && !(event.flags & event_flag::view)) last = event.position;
  }
  return last;
}

void keep(RunOutcomes& left, Outcome outcome) {
  const Slot& slot = *outcome.slot;
  left.storages.insert(slot.storage);
  if (is_known(slot)) left.contents.insert(content_of(slot));
  if (is_unfilled(slot)) left.unfilled_contents.insert(content_of(slot));
  if (outcome.stands && is_state(slot)) left.standing.emplace(slot.name);
  left.outcomes.push_back(std::move(outcome));
}

void read_lane(const RankState& state, Side side, const Lane& lane, RunOutcomes& left) {
  const Run& run = *on(state.runs, side);
  const std::uint32_t rank = on(state.ranks, side);
  const std::size_t blocks = run.block_count(rank, lane.id);
  const std::size_t before = left.outcomes.size();
  std::uint64_t end = kNone;
  for (std::size_t back = 1; back <= blocks; ++back) {
    const auto block = std::make_shared<const Block>(run.block(rank, lane.id, blocks - back));
    const std::uint64_t last = last_op(*block);
    if (end == kNone) end = last_end(*block);
    bool any = false;
    for (const Event& event : block->events) {
      if (event.kind != EventKind::outcome) continue;
      any = true;
      if (event.op == kEndOfTask && (is_before(event, last) || is_before(event, end))) continue;
      const bool ends = is_end(event.op);
      for (const Slot& slot : event.slots) {
        Outcome outcome;
        outcome.event = {&event, block};
        outcome.slot = &slot;
        outcome.lane = lane;
        outcome.stands = ends && !(slot.flags & slot_flag::freed);
        outcome.outlived = ends;
        outcome.alone = on(state.memory.alone, side).made(slot);
        keep(left, std::move(outcome));
      }
      if (!ends || !(event.flags & event_flag::seeded)) continue;
      left.end.event = {&event, block};
      left.end.lane = lane;
    }
    if (last != kNone)
      for (std::size_t k = before; k < left.outcomes.size(); ++k) {
        Outcome& outcome = left.outcomes[k];
        if (outcome.slot->writer_lane != lane.id || outcome.slot->writer < last)
          outcome.outlived = true;
      }
    else if (any)
      continue;
    return;
  }
}

}  // namespace

RunOutcomes outcomes_of(const RankState& state, Side side) {
  RunOutcomes left;
  for (const Lane& lane : on(state.runs, side)->lanes(on(state.ranks, side)))
    read_lane(state, side, lane, left);
  for (const Freed& freed : on(state.memory.freed, side))
    for (const Slot& slot : freed.event.event->slots)
      keep(left, {.event = freed.event,
                  .slot = &slot,
                  .lane = freed.lane,
                  .outlived = true,
                  .alone = on(state.memory.alone, side).made(slot)});
  return left;
}

std::uint64_t count_exchanged(const RankState& state, const Both<RunOutcomes>& left) {
  std::map<std::uint64_t, const Slot*> candidate;
  const auto counts = [](const Slot& slot) { return slot.name.empty() && is_known(slot); };
  for (const Outcome& outcome : left.candidate.outcomes)
    if (counts(*outcome.slot)) candidate.emplace(outcome.slot->storage, outcome.slot);
  struct Ending {
    Content content;  ///< of the reference
    bool read = false;
  };
  std::map<std::uint64_t, Ending> endings;   // by the reference's memory
  std::map<Content, std::uint64_t> holders;  // of the candidate's contents, likewise
  for (const Outcome& outcome : left.reference.outcomes) {
    const Slot& slot = *outcome.slot;
    if (!counts(slot)) continue;
    const auto partner = state.partners.made_equal.partner(Side::reference, slot.storage);
    const auto other = partner ? candidate.find(*partner) : candidate.end();
    if (other == candidate.end() || content_of(*other->second) == content_of(slot)) continue;
    const auto last = state.partners.read_as_partners.find(slot.storage);
    const bool read = last != state.partners.read_as_partners.end() && last->second == slot.writer;
    endings.try_emplace(slot.storage, Ending{content_of(slot), read});
    holders.emplace(content_of(*other->second), slot.storage);
  }
  const auto ends_with_anothers = [&](std::uint64_t first) {
    std::uint64_t storage = first;
    for (std::size_t k = 0; k < kMostExchanged; ++k) {
      const Ending& one = endings.at(storage);
      const auto holder = holders.find(one.content);
      if (holder == holders.end() || one.read) return false;
      storage = holder->second;
      if (storage == first) return true;
    }
    return true;
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(
      endings, [&](const auto& one) { return ends_with_anothers(one.first); }));
}

}  // namespace ulpscope::comparison
