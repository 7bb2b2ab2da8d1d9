#include "compare/align/main_share.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// An op or a call of a module that nothing else in its lane calls, with all that it calls.
struct Unit {
  std::uint64_t begin = 0;  ///< positions [begin, end)
  std::uint64_t end = 0;
  KeyHash structure;
  KeyHash content;
  bool has_content = false;
  bool belongs_to_training = false;
  std::vector<std::uint64_t> writers;  ///< positions in its own lane that it reads from
};

void add_op(Unit& unit, const Event& op, std::uint32_t lane) {
  const std::uint64_t structure = structure_key(op, Place::ignored);
  const std::uint64_t read = input_key(op);
  const std::uint64_t made = output_key(op);
  unit.structure.add(structure);
  unit.content.add(structure).add(read).add(made).add(argument_key(op));
  unit.has_content = unit.has_content || made != 0;
  for (const Slot& slot : op.slots)
    if (slot.role == Role::input && slot.writer_lane == lane && slot.writer < unit.begin)
      unit.writers.push_back(slot.writer);
}

[[nodiscard]] std::vector<Unit> units_of(const Run& run, std::uint32_t rank, std::uint32_t lane) {
  constexpr std::uint32_t kTraining = event_flag::in_backward | event_flag::in_optimizer;
  std::vector<Unit> units;
  for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events) {
      const bool inside = !units.empty() && event.parent != kNone &&
                          event.parent >= units.back().begin && event.parent < units.back().end;
      const bool begins = event.kind == EventKind::op || event.kind == EventKind::module ||
                          event.kind == EventKind::scope;
      if (!inside && !begins) continue;
      if (!inside) units.push_back({.begin = event.position, .end = event.position + 1});
      Unit& unit = units.back();
      unit.end = event.position + 1;
      unit.belongs_to_training = unit.belongs_to_training || (event.flags & kTraining) != 0;
      if (event.kind == EventKind::op) add_op(unit, event, lane);
    }
  }
  return units;
}

using Counts = std::unordered_map<std::uint64_t, std::uint64_t>;

[[nodiscard]] std::uint64_t count_of(const Counts& counts, std::uint64_t key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

/// What one of two has more often than the other.
[[nodiscard]] Counts more_in(const Counts& counts, const Counts& others) {
  Counts more;
  for (const auto& [key, count] : counts)
    if (const std::uint64_t other = count_of(others, key); count > other) more[key] = count - other;
  return more;
}

[[nodiscard]] bool take(Counts& counts, std::uint64_t key) {
  const auto found = counts.find(key);
  if (found == counts.end() || found->second == 0) return false;
  --found->second;
  return true;
}

struct Work {
  Counts contents;
  std::unordered_map<std::uint64_t, std::uint64_t> structures;  ///< by content

  void add(const Unit& unit) {
    if (!unit.has_content || unit.belongs_to_training) return;
    ++contents[unit.content.value()];
    structures[unit.content.value()] = unit.structure.value();
  }
};

/// Picks from a main lane what it has more often than the other one and the other run's threads
/// have more often than this run's, with what follows from that and is of a kind that those threads
/// do. What both main lanes do as often, and no such thread, stays.
class Picking {
 public:
  Picking(const Counts& own, const Counts& of_other_main, const Work& other_threads, Counts wanted)
      : own_(own),
        of_other_main_(of_other_main),
        other_threads_(other_threads),
        wanted_(std::move(wanted)) {
    for (const auto& [content, structure] : other_threads.structures) kinds_.insert(structure);
  }

  /// In the order of the lane.
  void pick(const Unit& unit) {
    if (unit.belongs_to_training) return;
    const bool follows =
        std::any_of(unit.writers.begin(), unit.writers.end(),
                    [&](std::uint64_t writer) { return contains(ranges_, writer); });
    if (unit.has_content ? !takes(unit, follows) : !follows) return;
    ranges_.emplace_back(unit.begin, unit.end);
  }

  [[nodiscard]] const PositionRanges& ranges() const noexcept { return ranges_; }

 private:
  [[nodiscard]] bool takes(const Unit& unit, bool follows) {
    const std::uint64_t content = unit.content.value();
    const std::uint64_t own = count_of(own_, content);
    const std::uint64_t other = count_of(of_other_main_, content);
    if (follows)
      return own == other ? count_of(other_threads_.contents, content) > 0
                          : kinds_.contains(unit.structure.value());
    // Of units with one content those belong to what has moved that read from it.
    return own > other && (other == 0 || unit.writers.empty()) && take(wanted_, content);
  }

  const Counts& own_;
  const Counts& of_other_main_;
  const Work& other_threads_;
  Counts wanted_;
  std::unordered_set<std::uint64_t> kinds_;
  PositionRanges ranges_;
};

[[nodiscard]] std::uint64_t events_in(const PositionRanges& ranges) {
  std::uint64_t events = 0;
  for (const auto& [begin, end] : ranges) events += end - begin;
  return events;
}

}  // namespace

Both<std::optional<LanePart>> shares_of_main(const Both<const Run*>& runs,
                                             const Both<std::uint32_t>& ranks) {
  Both<Work> threads;
  Both<std::optional<Lane>> mains;
  for (const Side side : kSides) {
    const std::vector<Lane> lanes = on(runs, side)->lanes(on(ranks, side));
    on(mains, side) = main_lane(lanes);
    for (const Lane& lane : lanes)
      if (lane.role == LaneRole::thread || lane.role == LaneRole::trainer)
        for (const Unit& unit : units_of(*on(runs, side), on(ranks, side), lane.id))
          on(threads, side).add(unit);
  }
  Both<Counts> more;
  for (const Side side : kSides)
    on(more, side) = more_in(on(threads, side).contents, on(threads, the_other(side)).contents);
  if (!mains.reference || !mains.candidate || (more.reference.empty() && more.candidate.empty()))
    return {};
  Both<std::vector<Unit>> units;
  Both<Work> work;
  for (const Side side : kSides) {
    on(units, side) = units_of(*on(runs, side), on(ranks, side), on(mains, side)->id);
    for (const Unit& unit : on(units, side)) on(work, side).add(unit);
  }
  Both<std::optional<LanePart>> shares;
  for (const Side side : kSides) {
    const Side other = the_other(side);
    LanePart part =
        part_of_main(*on(runs, side), on(ranks, side), *on(mains, side), LaneRole::main);
    part.lane.ordinal = 1;
    Picking picking(on(work, side).contents, on(work, other).contents, on(threads, other),
                    on(more, other));
    for (const Unit& unit : on(units, side)) picking.pick(unit);
    part.ranges = picking.ranges();
    part.lane.events = events_in(part.ranges);
    if (!part.ranges.empty()) on(shares, side) = std::move(part);
  }
  return shares;
}

}  // namespace ulpscope::comparison
