#include "compare/report/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/model/rank_events.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

using Left = std::pair<std::string, Digest>;  ///< the name of a tensor, and its content

struct Write {
  std::uint32_t rank = 0;
  std::string words;
};

/// The first write of each process that left something.
using Writes = std::map<Left, std::vector<Write>>;

/// No op of the process itself has written what differs.
[[nodiscard]] bool comes_from_outside(const Finding& finding) {
  return finding.kind == FindingKind::parameter || finding.kind == FindingKind::data ||
         finding.kind == FindingKind::write;
}

/// Calls visit(tensor, k) for each named tensor of a finding that differs.
template <class Visit>
void for_each_differing(const Record& record, Visit visit) {
  if (!comes_from_outside(record.finding)) return;
  for (std::size_t k = 0; k < record.finding.tensors.size(); ++k)
    if (const TensorReport& tensor = record.finding.tensors[k];
        !tensor.equal && !tensor.name.empty())
      visit(tensor, k);
}

void add_writes(const Event& event, std::uint32_t rank, std::int64_t step, Writes& wanted) {
  if (event.kind != EventKind::op) return;
  for (const Slot& slot : event.slots) {
    if (!writes(slot) || slot.name.empty() || (slot.flags & slot_flag::no_digest)) continue;
    const auto found = wanted.find({std::string(slot.name), slot.digest});
    if (found == wanted.end()) continue;
    std::vector<Write>& known = found->second;
    if (std::ranges::find(known, rank, &Write::rank) == known.end())
      known.push_back({rank, event_words(event, step)});
  }
}

/// What processes of a run have written of what differs there.
[[nodiscard]] Writes writes_of(const std::vector<Record>& records, Side side, const Run& run) {
  Writes wanted;
  for (const Record& record : records)
    for_each_differing(record, [&](const TensorReport& tensor, std::size_t k) {
      wanted[{tensor.name, on(record.evidence.tensors[k].digest, side)}];
    });
  for (const std::uint32_t rank : run.ranks())
    for_each_event(run, rank, [&](const Event& event, std::int64_t step) {
      add_writes(event, rank, step, wanted);
    });
  return wanted;
}

/// Has created it, or a process that has: what that wrote before, it has inherited.
[[nodiscard]] bool is_ancestor(const Run& run, std::uint32_t process, std::uint32_t of) {
  constexpr int kDeepest = 64;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto creator = run.identity(of).creator;
    if (!creator) return false;
    if (*creator == process) return true;
    of = *creator;
  }
  return true;
}

[[nodiscard]] std::optional<Write> by_other_than(const Run& run, std::uint32_t reader,
                                                 const std::vector<Write>& writes) {
  const auto other = std::ranges::find_if(writes, [&](const Write& write) {
    return write.rank != reader && !is_ancestor(run, write.rank, reader);
  });
  return other == writes.end() ? std::nullopt : std::optional(*other);
}

void add_to(Record& record, const Both<Writes>& writes, const Both<const Run*>& runs) {
  for_each_differing(record, [&](const TensorReport& tensor, std::size_t k) {
    SharedMemory& shared = record.evidence.shared_memory;
    if (!shared.writes.empty()) return;
    for (const Side side : kSides) {
      const Run& run = *on(runs, side);
      const std::uint32_t reader = on(record.ranks, side);
      const Digest& digest = on(record.evidence.tensors[k].digest, side);
      const auto write = by_other_than(run, reader, on(writes, side).at({tensor.name, digest}));
      if (!write) continue;
      shared.writes += fmt::format("{}what rank {} wrote by {} in the {}",
                                   shared.writes.empty() ? tensor.name + " is " : ", and ",
                                   write->rank, write->words, name(side));
      shared.of_siblings = shared.of_siblings && !is_ancestor(run, reader, write->rank);
    }
  });
}

}  // namespace

void add_shared_memory(std::vector<Record>& records, const Both<const Run*>& runs) {
  if (records.empty() || !comes_from_outside(records.front().finding)) return;
  Both<Writes> writes;
  for (const Side side : kSides) {
    if (on(runs, side)->ranks().size() < 2) return;
    on(writes, side) = writes_of(records, side, *on(runs, side));
  }
  for (Record& record : records) add_to(record, writes, runs);
}

}  // namespace ulpscope::comparison
