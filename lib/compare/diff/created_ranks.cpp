#include "compare/diff/created_ranks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "compare/model/hash.hpp"
#include "compare/model/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// Smaller values may be equal by accident.
constexpr std::uint64_t kFewElements = 4;

using Ranks = std::set<std::uint32_t>;
using Makers = std::unordered_map<std::uint64_t, std::uint32_t>;  ///< ranks, by what they made
using Steps = std::map<std::uint32_t, std::int64_t>;

[[nodiscard]] bool tells_apart(const Slot& slot) {
  return slot.geometry != nullptr && element_count(*slot.geometry) >= kFewElements &&
         !(slot.flags & (slot_flag::no_digest | slot_flag::uninitialised));
}

[[nodiscard]] std::uint64_t key(const Slot& slot) { return KeyHash().add(slot.digest).value(); }

template <class Visit>
void visit_events(const Run& run, std::uint32_t rank, Visit&& visit) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      for (const Event& event : block.events)
        if (!visit(event, block.step)) return;
    }
}

[[nodiscard]] Makers made_by(const Run& run, const Ranks& ranks) {
  Makers made;
  for (const std::uint32_t rank : ranks)
    visit_events(run, rank, [&](const Event& event, std::int64_t) {
      for (const Slot& slot : event.slots)
        if (slot.role != Role::input && tells_apart(slot)) made.try_emplace(key(slot), rank);
      return true;
    });
  return made;
}

/// In which step the creator first reads what each has made: memory that none of its own ops wrote.
[[nodiscard]] Steps first_reads(const Run& run, std::uint32_t creator, const Ranks& ranks) {
  const Makers made = made_by(run, ranks);
  Steps first;
  visit_events(run, creator, [&](const Event& event, std::int64_t step) {
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input || !(slot.flags & slot_flag::unproduced) || !tells_apart(slot))
        continue;
      if (const auto maker = made.find(key(slot)); maker != made.end())
        first.try_emplace(maker->second, step);
    }
    return first.size() < ranks.size();
  });
  return first;
}

}  // namespace

void place_created_ranks(std::vector<Record>& records, const Both<const Run*>& runs) {
  const Run& run = *runs.reference;
  std::map<std::uint32_t, Ranks> created;
  for (const Record& record : records) {
    const RankIdentity process = run.identity(record.ranks.reference);
    if (process.creator && process.declared.empty())
      created[*process.creator].insert(record.ranks.reference);
  }
  for (const auto& [creator, ranks] : created) {
    const Steps first = first_reads(run, creator, ranks);
    for (Record& record : records)
      if (const auto step = first.find(record.ranks.reference); step != first.end())
        record.order_step = std::max(order_step(record), step->second);
  }
}

}  // namespace ulpscope::comparison
