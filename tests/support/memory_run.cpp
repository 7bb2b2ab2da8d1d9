#include "tests/support/memory_run.hpp"

#include <deque>
#include <memory>

namespace ulpscope::test {

namespace {

/// What the events of one block refer to. A fresh copy for each block, so that a reader that keeps
/// a view longer than the block is caught by the sanitizer.
struct BlockData {
  std::deque<detail::StoredEvent> events;
  std::deque<std::vector<Slot>> slots;
};

}  // namespace

MemoryRun::MemoryRun() = default;
MemoryRun::~MemoryRun() = default;

std::vector<std::uint32_t> MemoryRun::ranks() const { return {rank}; }

std::vector<Lane> MemoryRun::lanes(std::uint32_t) const {
  std::vector<Lane> result;
  for (const auto& lane : stored) {
    result.push_back(lane.lane);
    result.back().events = lane.events.size();
  }
  return result;
}

std::vector<EnvironmentEntry> MemoryRun::environment(std::uint32_t) const { return settings; }

std::size_t MemoryRun::block_count(std::uint32_t, std::uint32_t lane) const {
  return ranges(lane).size();
}

Block MemoryRun::block(std::uint32_t, std::uint32_t lane, std::size_t index) const {
  const auto [begin, end] = ranges(lane)[index];
  const auto& events = stored[lane].events;
  auto data = std::make_shared<BlockData>();
  Block result;
  result.lane = lane;
  result.step = events[begin].step;
  for (std::size_t k = begin; k < end; ++k) {
    const auto& copy = data->events.emplace_back(events[k]);
    auto& slots = data->slots.emplace_back();
    for (const auto& from : copy.slots) {
      slots.push_back(from.slot);
      slots.back().name = from.name;
      slots.back().geometry = from.slot.flags & slot_flag::undefined ? nullptr : &from.geometry;
    }
    Event event = copy.event;
    event.op = copy.op;
    event.overload = copy.overload;
    event.stack = copy.stack;
    event.argument_names = copy.argument_names;
    event.return_names = copy.return_names;
    event.root = copy.root;
    event.module = copy.module;
    event.module_type = copy.module_type;
    event.slots = slots;
    event.argument_bytes = copy.arguments;
    result.events.push_back(event);
  }
  result.storage = data;
  return result;
}

std::optional<std::vector<std::byte>> MemoryRun::content(std::uint32_t,
                                                         const Digest& digest) const {
  const auto at = contents.find(digest);
  if (at == contents.end()) return std::nullopt;
  return at->second;
}

const std::vector<MemoryRun::Range>& MemoryRun::ranges(std::uint32_t lane) const {
  auto& known = ranges_[lane];
  const auto& events = stored.at(lane).events;
  if (!known.empty() || events.empty()) return known;
  for (std::size_t begin = 0; begin < events.size();) {
    std::size_t end = begin;
    while (end < events.size() && events[end].step == events[begin].step &&
           end - begin < block_events)
      ++end;
    known.emplace_back(begin, end);
    begin = end;
  }
  return known;
}

}  // namespace ulpscope::test
