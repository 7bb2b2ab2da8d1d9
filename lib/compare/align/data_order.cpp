#include "compare/align/data_order.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 22U;     ///< events and reads of them
constexpr std::size_t kFarBack = std::size_t{1} << 14U;  ///< ops
constexpr std::ptrdiff_t kNear = 64;                     ///< ops

[[nodiscard]] auto key(const EventPlace& place) { return std::pair(place.lane, place.position); }

void keep_each_once(std::vector<EventPlace>& places) {
  const auto before = [](const EventPlace& a, const EventPlace& b) { return key(a) < key(b); };
  const auto equal = [](const EventPlace& a, const EventPlace& b) { return key(a) == key(b); };
  std::sort(places.begin(), places.end(), before);
  places.erase(std::unique(places.begin(), places.end(), equal), places.end());
}

}  // namespace

DataOrder::DataOrder(const Run& run, std::uint32_t rank) {
  std::size_t kept = 0;
  for (const Lane& lane : run.lanes(rank)) {
    Ops& ops = ops_[lane.id];
    bool inside = false;
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      for (const Event& event : block.events) {
        inside = inside && event.parent != kNone && event.parent >= ops.back().position;
        if (!inside && event.kind == EventKind::op) {
          ops.push_back({.position = event.position, .last = event.position, .reads = {}});
          inside = true;
        }
        if (!inside) continue;
        ops.back().last = event.position;
        kept += 1 + add_reads(event, lane.id, ops.back());
        if (kept > kMost) {
          ops_.clear();
          return;
        }
      }
    }
  }
}

std::size_t DataOrder::add_reads(const Event& event, std::uint32_t lane, Op& op) {
  const std::size_t before = op.reads.size();
  for (const Slot& slot : event.slots) {
    const bool own = slot.writer_lane == lane && slot.writer >= op.position;
    if (slot.role == Role::input && slot.writer != kNone && !own)
      op.reads.push_back({slot.writer_lane, slot.writer});
  }
  keep_each_once(op.reads);
  return op.reads.size() - before;
}

DataOrder::Ops::const_iterator DataOrder::find(const Ops& ops, std::uint64_t position) {
  const auto after =
      std::upper_bound(ops.begin(), ops.end(), position,
                       [](std::uint64_t at, const Op& op) { return at < op.position; });
  return after == ops.begin() || std::prev(after)->last < position ? ops.end() : std::prev(after);
}

const DataOrder::Op* DataOrder::find(EventPlace place) const {
  const auto lane = ops_.find(place.lane);
  if (lane == ops_.end()) return nullptr;
  const auto op = find(lane->second, place.position);
  return op == lane->second.end() ? nullptr : &*op;
}

bool DataOrder::follows(EventPlace later, EventPlace earlier) const {
  const Op* const target = find(earlier);
  const Op* const start = find(later);
  if (target == nullptr || start == nullptr) return false;
  std::set<const Op*> seen;
  std::deque<const Op*> open{start};
  while (!open.empty() && seen.size() < kFarBack) {
    const Op* const op = open.front();
    open.pop_front();
    for (const EventPlace& read : op->reads) {
      const Op* const writer = find(read);
      if (writer == target) return true;
      const bool before = read.lane == earlier.lane && read.position < target->position;
      if (writer != nullptr && !before && seen.insert(writer).second) open.push_back(writer);
    }
  }
  return false;
}

EventPlace DataOrder::meets_others(EventPlace place) const {
  const auto lane = ops_.find(place.lane);
  if (lane == ops_.end()) return {};
  const Ops& ops = lane->second;
  const auto start = find(ops, place.position);
  std::set<const Op*> alone;
  for (auto op = start; op != ops.end() && op - start < kNear; ++op) {
    const auto is_alone = [&](const EventPlace& read) {
      return read.lane == place.lane && alone.contains(find(read));
    };
    const auto own = std::count_if(op->reads.begin(), op->reads.end(), is_alone);
    if (op != start && own == 0) continue;
    if (own < static_cast<std::ptrdiff_t>(op->reads.size())) return {place.lane, op->position};
    alone.insert(&*op);
  }
  return {};
}

}  // namespace ulpscope::comparison
