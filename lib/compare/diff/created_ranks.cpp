#include "compare/diff/created_ranks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/model/hash.hpp"
#include "compare/model/rank_events.hpp"
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

/// What ranks have made, and the creator's memory that holds it.
struct Makers {
  std::unordered_map<std::uint64_t, std::vector<Maker>> of_content;  ///< equal ones: of several
  std::unordered_map<std::uint64_t, std::uint64_t> content_in;       ///< by storage: its content

  /// Of a value that the creator reads, whole or in part; null if it is none of these.
  [[nodiscard]] const std::vector<Maker>* find(std::uint64_t content, std::uint64_t storage) const {
    if (const auto at = of_content.find(content); at != of_content.end()) return &at->second;
    const auto in = content_in.find(storage);
    return in == content_in.end() ? nullptr : &of_content.at(in->second);
  }
};

/// Step and position of an event of the creator.
using Moment = std::pair<std::int64_t, std::uint64_t>;

/// By position of what made it, when the creator first reads a value of a rank.
using Reads = std::map<std::uint64_t, Moment>;
using ReadsOfRanks = std::map<std::uint32_t, Reads>;

[[nodiscard]] bool tells_apart(const Slot& slot) {
  return slot.geometry != nullptr && element_count(*slot.geometry) >= kFewElements &&
         !(slot.flags & (slot_flag::no_digest | slot_flag::uninitialised));
}

[[nodiscard]] std::uint64_t key(const Digest& digest) { return KeyHash().add(digest).value(); }

[[nodiscard]] Makers made_by(const Run& run, const Ranks& ranks) {
  Makers made;
  for (const std::uint32_t rank : ranks)
    for_each_event(run, rank, [&](const Event& event, std::int64_t) {
      for (const Slot& slot : event.slots)
        if (slot.role != Role::input && tells_apart(slot))
          made.of_content[key(slot.digest)].push_back({rank, event.position});
    });
  return made;
}

/// Memory that none of the creator's own ops wrote.
[[nodiscard]] bool comes_from_outside(const Slot& slot) {
  return slot.role == Role::input && (slot.flags & slot_flag::unproduced) != 0 &&
         (slot.flags & slot_flag::no_digest) == 0;
}

void find_memory(const Run& run, std::uint32_t creator, Makers& made) {
  for_each_event(run, creator, [&](const Event& event, std::int64_t) {
    for (const Slot& slot : event.slots)
      if (comes_from_outside(slot) && tells_apart(slot) &&
          made.of_content.contains(key(slot.digest)))
        made.content_in.try_emplace(slot.storage, key(slot.digest));
  });
}

/// What the creator reads of what they have made.
[[nodiscard]] ReadsOfRanks reads_of(const Run& run, std::uint32_t creator, const Makers& made) {
  ReadsOfRanks reads;
  for_each_event(run, creator, [&](const Event& event, std::int64_t step) {
    for (const Slot& slot : event.slots) {
      if (!comes_from_outside(slot)) continue;
      const auto* const makers = made.find(key(slot.digest), slot.storage);
      if (makers == nullptr) continue;
      const Moment moment{step, event.position};
      for (const Maker& maker : *makers) {
        const auto [at, added] = reads[maker.rank].try_emplace(maker.position, moment);
        at->second = std::min(at->second, moment);
      }
    }
  });
  return reads;
}

/// When what was made at `position` or later is first read; at the end if it is not, as batches are
/// not that a worker has made ahead when the training ends.
[[nodiscard]] Moment first_read_after(const Reads& reads, std::uint64_t position) {
  Moment first{kNoEnd, kNone};
  for (auto at = reads.lower_bound(position); at != reads.end(); ++at)
    first = std::min(first, at->second);
  return first;
}

[[nodiscard]] bool was_made(const TensorEvidence& tensor, const Both<Makers>& made) {
  return made.reference.find(key(tensor.digest.reference), tensor.storage.reference) != nullptr &&
         made.candidate.find(key(tensor.digest.candidate), tensor.storage.candidate) != nullptr;
}

/// All that a finding reads and that differs has been made by these ranks in both runs; so has what
/// differs after memory that only one run hands out there.
[[nodiscard]] bool reads_what_was_made(const Record& record, const Both<Makers>& made) {
  if (record.finding.kind == FindingKind::sequence)
    return record.effect && was_made(record.effect->tensor.evidence, made);
  if (record.finding.kind != FindingKind::data) return false;
  bool any = false;
  for (std::size_t k = 0; k < record.finding.tensors.size(); ++k) {
    const TensorReport& tensor = record.finding.tensors[k];
    if (tensor.role != Role::input || tensor.equal) continue;
    if (!was_made(record.evidence.tensors[k], made)) return false;
    any = true;
  }
  return any;
}

/// Ranks of each run that have a finding, by the number of their creator in the reference.
[[nodiscard]] std::map<std::uint32_t, Both<Ranks>> created_with_findings(
    const std::vector<Record>& records, const Run& reference) {
  std::map<std::uint32_t, Both<Ranks>> created;
  for (const Record& record : records) {
    const RankIdentity process = reference.identity(record.ranks.reference);
    if (!process.creator || !process.declared.empty() || !record.finding.diverges) continue;
    for (const Side side : kSides)
      on(created[*process.creator], side).insert(on(record.ranks, side));
  }
  return created;
}

}  // namespace

std::size_t place_created_ranks(std::vector<Record>& records, const Both<const Run*>& runs) {
  const std::size_t before = records.size();
  for (const auto& [creator, ranks] : created_with_findings(records, *runs.reference)) {
    Both<Makers> made{made_by(*runs.reference, ranks.reference),
                      made_by(*runs.candidate, ranks.candidate)};
    find_memory(*runs.reference, creator, made.reference);
    const auto other = runs.candidate->identity(*ranks.candidate.begin()).creator;
    if (other) find_memory(*runs.candidate, *other, made.candidate);
    const ReadsOfRanks reads = reads_of(*runs.reference, creator, made.reference);
    std::erase_if(records, [&, of = creator](const Record& record) {
      return record.ranks.reference == of && reads_what_was_made(record, made);
    });
    for (Record& record : records) {
      const auto of_rank = reads.find(record.ranks.reference);
      if (of_rank == reads.end()) continue;
      const auto [step, position] = first_read_after(of_rank->second, record.order_event);
      if (step < order_step(record)) continue;
      record.order_step = step;
      record.order_event = position;
    }
  }
  return before - records.size();
}

}  // namespace ulpscope::comparison
