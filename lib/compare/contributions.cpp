#include "compare/contributions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ulpscope::comparison {
namespace {

/// What a rank gave to a collective.
struct Call {
  std::uint64_t position = 0;
  std::string op;
  std::optional<std::int64_t> peer;  ///< of a message
  std::vector<Digest> given;
  bool known = true;  ///< of all that it gave there is a digest
};

using Calls = std::vector<Call>;

[[nodiscard]] bool is_collective(const Event& event) {
  return event.kind == EventKind::op && event.op.starts_with("c10d::");
}

[[nodiscard]] std::optional<std::int64_t> peer_of(const Event& event) {
  for (const Argument& argument : arguments(event)) {
    if (argument.name != "src" && argument.name != "dst") continue;
    std::int64_t peer = 0;
    const char* const end = argument.text.data() + argument.text.size();
    if (std::from_chars(argument.text.data(), end, peer).ptr == end) return peer;
  }
  return std::nullopt;
}

[[nodiscard]] Call call_of(const Event& event) {
  constexpr std::uint32_t kNotGiven =
      slot_flag::overwritten | slot_flag::metadata_only | slot_flag::undefined;
  Call call{
      .position = event.position, .op = std::string(event.op), .peer = peer_of(event), .given = {}};
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::input || (slot.flags & kNotGiven) != 0) continue;
    call.given.push_back(slot.digest);
    call.known = call.known && (slot.flags & slot_flag::no_digest) == 0;
  }
  return call;
}

/// The collectives of a rank, in the order of each lane.
[[nodiscard]] Calls calls_of(const Run& run, std::uint32_t rank) {
  Calls calls;
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t k = 0; k < run.block_count(rank, lane.id); ++k) {
      const Block block = run.block(rank, lane.id, k);
      for (const Event& event : block.events)
        if (is_collective(event)) calls.push_back(call_of(event));
    }
  return calls;
}

/// The calls that belong to one kind of exchange.
[[nodiscard]] std::vector<const Call*> matching(const Calls& calls, std::string_view op,
                                                std::optional<std::int64_t> peer) {
  std::vector<const Call*> found;
  for (const Call& call : calls)
    if (call.op == op && call.peer == peer) found.push_back(&call);
  return found;
}

class Contributions {
 public:
  Contributions(const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& pairs)
      : runs_(runs), pairs_(pairs) {}

  void note(Record& record) {
    const Finding& finding = record.finding;
    const bool received =
        finding.kind == FindingKind::origin && finding.diverges && finding.op.starts_with("c10d::");
    if (!received) return;
    const Both<std::optional<Own>> own{own_call(record, Side::reference),
                                       own_call(record, Side::candidate)};
    if (!own.reference || !own.candidate) return;
    for (const Both<std::uint32_t>& other : pairs_) {
      if (other.reference == record.ranks.reference) continue;
      const Call* const reference = given_by(other, Side::reference, *own.reference, record);
      const Call* const candidate = given_by(other, Side::candidate, *own.candidate, record);
      if (reference == nullptr || candidate == nullptr) continue;
      if (!reference->known || !candidate->known || reference->given == candidate->given) continue;
      record.evidence.contributor = other.reference;
      return;
    }
  }

 private:
  /// Which of a rank's calls it is, among those of its kind.
  struct Own {
    std::string op;
    std::optional<std::int64_t> peer;
    std::size_t occurrence = 0;
  };

  [[nodiscard]] const Calls& calls(Side side, std::uint32_t rank) {
    const auto [at, added] = known_.try_emplace({side, rank});
    if (added) at->second = calls_of(*on(runs_, side), rank);
    return at->second;
  }

  [[nodiscard]] std::optional<Own> own_call(const Record& record, Side side) {
    const Calls& all = calls(side, on(record.ranks, side));
    const std::optional<std::uint64_t>& event = on(record.finding.event, side);
    if (!event) return std::nullopt;
    for (const Call& call : all) {
      if (call.position != event || call.op != record.finding.op) continue;
      const auto same = matching(all, call.op, call.peer);
      const auto at = std::find(same.begin(), same.end(), &call);
      return Own{call.op, call.peer, static_cast<std::size_t>(at - same.begin())};
    }
    return std::nullopt;
  }

  /// What a rank gave to the collective; null where it took no part.
  [[nodiscard]] const Call* given_by(const Both<std::uint32_t>& rank, Side side, const Own& own,
                                     const Record& record) {
    const bool receives = own.op.starts_with("c10d::recv");
    if (receives && own.peer && *own.peer != on(rank, side)) return nullptr;
    const auto peer = receives ? std::optional<std::int64_t>(on(record.ranks, side)) : std::nullopt;
    const auto found = matching(calls(side, on(rank, side)),
                                receives ? std::string_view("c10d::send") : own.op, peer);
    return own.occurrence < found.size() ? found[own.occurrence] : nullptr;
  }

  const Both<const Run*>& runs_;
  const std::vector<Both<std::uint32_t>>& pairs_;
  std::map<std::pair<Side, std::uint32_t>, Calls> known_;
};

/// Ranks count their steps each for itself: what follows from another rank is not before it.
void order_by_contributors(std::vector<Record>& records, std::size_t ranks) {
  for (std::size_t round = 0; round < ranks; ++round) {
    std::map<std::uint32_t, std::int64_t> first;
    for (const Record& record : records) {
      if (!record.finding.diverges) continue;
      const auto [at, added] = first.try_emplace(record.finding.rank, order_step(record));
      if (!added) at->second = std::min(at->second, order_step(record));
    }
    for (Record& record : records)
      if (const auto& contributor = record.evidence.contributor)
        if (const auto at = first.find(*contributor); at != first.end())
          record.order_step = std::max(order_step(record), at->second);
  }
}

}  // namespace

void note_contributions(std::vector<Record>& records, const Both<const Run*>& runs,
                        const std::vector<Both<std::uint32_t>>& pairs) {
  if (pairs.size() < 2) return;
  Contributions contributions(runs, pairs);
  for (Record& record : records) contributions.note(record);
  order_by_contributors(records, pairs.size());
}

}  // namespace ulpscope::comparison
