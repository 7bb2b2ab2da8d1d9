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

/// An event of a created rank, whichever of its lanes it is in.
struct Maker {
  std::uint32_t rank = 0;
  std::uint64_t position = 0;
};
using Makers = std::unordered_map<std::uint64_t, Maker>;  ///< by what they made

/// By position of what made it, in which step the creator first reads a value of a rank.
using Reads = std::map<std::uint64_t, std::int64_t>;
using ReadsOfRanks = std::map<std::uint32_t, Reads>;

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
      for (const Event& event : block.events) visit(event, block.step);
    }
}

[[nodiscard]] Makers made_by(const Run& run, const Ranks& ranks) {
  Makers made;
  for (const std::uint32_t rank : ranks)
    visit_events(run, rank, [&](const Event& event, std::int64_t) {
      for (const Slot& slot : event.slots)
        if (slot.role != Role::input && tells_apart(slot))
          made.try_emplace(key(slot), Maker{rank, event.position});
    });
  return made;
}

/// What the creator reads of what they have made: memory that none of its own ops wrote.
[[nodiscard]] ReadsOfRanks reads_of(const Run& run, std::uint32_t creator, const Ranks& ranks) {
  const Makers made = made_by(run, ranks);
  ReadsOfRanks reads;
  visit_events(run, creator, [&](const Event& event, std::int64_t step) {
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input || !(slot.flags & slot_flag::unproduced) || !tells_apart(slot))
        continue;
      const auto maker = made.find(key(slot));
      if (maker == made.end()) continue;
      const auto [at, added] = reads[maker->second.rank].try_emplace(maker->second.position, step);
      at->second = std::min(at->second, step);
    }
  });
  return reads;
}

/// The first step that reads what was made at `position` or later; kNoEnd if none does, as none
/// reads the batches that a worker has made ahead when the training ends.
[[nodiscard]] std::int64_t first_read_after(const Reads& reads, std::uint64_t position) {
  std::int64_t first = kNoEnd;
  for (auto at = reads.lower_bound(position); at != reads.end(); ++at)
    first = std::min(first, at->second);
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
    const ReadsOfRanks reads = reads_of(run, creator, ranks);
    for (Record& record : records) {
      const auto of_rank = reads.find(record.ranks.reference);
      if (of_rank == reads.end()) continue;
      record.order_step =
          std::max(order_step(record), first_read_after(of_rank->second, record.order_event));
    }
  }
}

}  // namespace ulpscope::comparison
