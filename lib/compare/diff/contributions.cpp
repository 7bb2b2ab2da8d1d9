#include "compare/diff/contributions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ulpscope::comparison {
namespace {

/// Who a rank is in a group, "rank 1 of 4".
struct Member {
  std::int64_t rank = 0;
  std::int64_t size = 0;
};

/// What a rank gave to a collective.
struct Call {
  std::uint32_t lane = 0;
  std::uint64_t position = 0;
  std::string op;
  std::uint64_t group = 0;           ///< which of the rank's, 0: not known
  std::optional<Member> member;      ///< of that group
  std::optional<std::int64_t> peer;  ///< of a message, as a member of the group
  std::optional<std::int64_t> tag;   ///< of a message
  std::vector<Digest> given;
  bool known = true;  ///< of all that it gave there is a digest
};

using Calls = std::vector<Call>;

[[nodiscard]] bool is_collective(const Event& event) {
  return event.kind == EventKind::op && event.op.starts_with("c10d::");
}

/// The number that a text begins with, which it is taken off.
[[nodiscard]] std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

[[nodiscard]] bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

[[nodiscard]] std::optional<Member> member_of(std::string_view text) {
  if (!take(text, "rank ")) return std::nullopt;
  const auto rank = take_number(text);
  if (!rank || !take(text, " of ")) return std::nullopt;
  const auto size = take_number(text);
  return size && text.empty() ? std::optional(Member{*rank, *size}) : std::nullopt;
}

void read_arguments(const Event& event, Call& call) {
  for (const Argument& argument : arguments(event)) {
    std::string_view text = argument.text;
    if (argument.name == "process_group")
      call.member = member_of(take(text, "\"") ? text.substr(0, text.rfind('"')) : text);
    else if (argument.name == "src" || argument.name == "dst")
      call.peer = take_number(text);
    else if (argument.name == "tag")
      call.tag = take_number(text);
  }
}

/// The input of the call that wrote the slot, if its result was never seen because a second
/// collective was called on it at once.
[[nodiscard]] const Call* passed_on(const Slot& slot, const Calls& earlier) {
  for (auto call = earlier.rbegin(); call != earlier.rend(); ++call) {
    if (call->lane != slot.writer_lane) continue;
    if (call->position <= slot.writer) return call->position == slot.writer ? &*call : nullptr;
  }
  return nullptr;
}

[[nodiscard]] Call call_of(const Event& event, std::uint32_t lane, const Calls& earlier) {
  constexpr std::uint32_t kNotGiven =
      slot_flag::overwritten | slot_flag::metadata_only | slot_flag::undefined;
  Call call{.lane = lane,
            .position = event.position,
            .op = std::string(event.op),
            .group = event.object,
            .member = {},
            .peer = {},
            .tag = {},
            .given = {}};
  read_arguments(event, call);
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::input || (slot.flags & kNotGiven) != 0) continue;
    if ((slot.flags & slot_flag::no_digest) == 0) {
      call.given.push_back(slot.digest);
    } else if (const Call* const before = passed_on(slot, earlier)) {
      call.given.insert(call.given.end(), before->given.begin(), before->given.end());
      call.known = call.known && before->known;
    } else {
      call.known = false;
    }
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
        if (is_collective(event)) calls.push_back(call_of(event, lane.id, calls));
    }
  return calls;
}

/// The calls that belong to one kind of exchange, in one of the rank's groups.
[[nodiscard]] std::vector<const Call*> matching(const Calls& calls, std::string_view op,
                                                std::uint64_t group,
                                                std::optional<std::int64_t> peer,
                                                std::optional<std::int64_t> tag) {
  std::vector<const Call*> found;
  for (const Call& call : calls)
    if (call.op == op && call.group == group && call.peer == peer && call.tag == tag)
      found.push_back(&call);
  return found;
}

/// Whether calls of two ranks may be of one group.
[[nodiscard]] bool may_belong_together(const Call& one, const Call& other) {
  if (!one.member || !other.member) return true;
  return one.member->size == other.member->size && one.member->rank != other.member->rank;
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
      if (!gave_something_else(other, own, record)) continue;
      record.evidence.contributor = other.reference;
      return;
    }
  }

 private:
  /// Which of a rank's calls it is, among those of its kind.
  struct Own {
    Call call;
    std::size_t occurrence = 0;
  };

  /// By the rank's group, where it is known which of them the call may belong to.
  using Given = std::map<std::uint64_t, const Call*>;

  [[nodiscard]] bool gave_something_else(const Both<std::uint32_t>& rank,
                                         const Both<std::optional<Own>>& own,
                                         const Record& record) {
    const Given reference = given_by(rank, Side::reference, *own.reference, record);
    const Given candidate = given_by(rank, Side::candidate, *own.candidate, record);
    return std::any_of(reference.begin(), reference.end(), [&](const auto& of_group) {
      const auto other = candidate.find(of_group.first);
      if (other == candidate.end()) return false;
      const Call& one = *of_group.second;
      return one.known && other->second->known && one.given != other->second->given;
    });
  }

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
      const auto same = matching(all, call.op, call.group, call.peer, call.tag);
      const auto at = std::find(same.begin(), same.end(), &call);
      return Own{call, static_cast<std::size_t>(at - same.begin())};
    }
    return std::nullopt;
  }

  /// What the rank contributed to the collective; empty if it took no part.
  [[nodiscard]] Given given_by(const Both<std::uint32_t>& rank, Side side, const Own& own,
                               const Record& record) {
    const bool receives = own.call.op.starts_with("c10d::recv");
    const std::string_view op = receives ? std::string_view("c10d::send") : own.call.op;
    const Calls& all = calls(side, on(rank, side));
    Given given;
    for (const Call& call : all) {
      if (call.op != op || given.contains(call.group) || !may_belong_together(own.call, call))
        continue;
      const auto sender = call.member ? call.member->rank : on(rank, side);
      if (receives && own.call.peer && *own.call.peer != sender) continue;
      const auto receiver = own.call.member ? own.call.member->rank : on(record.ranks, side);
      const auto found =
          matching(all, op, call.group,
                   receives ? std::optional<std::int64_t>(receiver) : std::nullopt, own.call.tag);
      given[call.group] = own.occurrence < found.size() ? found[own.occurrence] : nullptr;
    }
    std::erase_if(given, [](const auto& of_group) { return of_group.second == nullptr; });
    return given;
  }

  const Both<const Run*>& runs_;
  const std::vector<Both<std::uint32_t>>& pairs_;
  std::map<std::pair<Side, std::uint32_t>, Calls> known_;
};

/// Each rank counts its own steps: what follows from a different rank does not come before it.
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
