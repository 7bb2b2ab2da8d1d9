#include "dump/rank_identity.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ulpscope::dump {
namespace {

struct Declaration {
  std::size_t variable = 0;  ///< index into kRankVariables
  std::uint32_t rank = 0;

  friend bool operator==(const Declaration&, const Declaration&) = default;
};

[[nodiscard]] std::optional<Declaration> declaration(const RankOrigin& origin) {
  for (std::size_t variable = 0; variable < origin.declared.size(); ++variable)
    if (origin.declared[variable]) return Declaration{variable, *origin.declared[variable]};
  return std::nullopt;
}

/// In the order of creation, creators first.
[[nodiscard]] bool was_created_before(const RankOrigin& a, const RankOrigin& b) {
  if (a.path != b.path) return a.path < b.path;
  return a.session < b.session;  // a process that executed a different program
}

[[nodiscard]] bool created(const RankOrigin& creator, const RankOrigin& process) {
  const std::size_t depth = creator.path.size();
  return depth < process.path.size() && process.path[depth - 1] == creator.path.back();
}

class Identification {
 public:
  explicit Identification(std::span<const NumberedOrigin> ranks)
      : ranks_(ranks), declarations_(ranks.size()), creators_(ranks.size()) {
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      by_creation_.push_back(k);
      declarations_[k] = declaration(ranks[k].origin);
      for (std::size_t other = 0; other < ranks.size(); ++other)
        if (created(ranks[other].origin, ranks[k].origin) &&
            (!creators_[k] || was_created_before(ranks[*creators_[k]].origin, ranks[other].origin)))
          creators_[k] = other;
    }
    std::sort(by_creation_.begin(), by_creation_.end(), [&](std::size_t a, std::size_t b) {
      return was_created_before(ranks_[a].origin, ranks_[b].origin);
    });
    drop_launchers_declarations();
    drop_inherited_declarations();
  }

  [[nodiscard]] std::vector<RankIdentity> identities() const {
    std::vector<RankIdentity> identities(ranks_.size());
    std::map<std::uint32_t, std::vector<std::size_t>> declared;
    std::map<std::optional<std::size_t>, std::vector<std::size_t>> undeclared;
    for (const std::size_t k : by_creation_) {
      RankIdentity& identity = identities[k];
      identity.known = true;
      if (creators_[k]) identity.creator = ranks_[*creators_[k]].number;
      if (declarations_[k]) {
        auto& same = declared[declarations_[k]->rank];
        identity.declared = kRankVariables[declarations_[k]->variable];
        identity.rank = declarations_[k]->rank;
        identity.restart = static_cast<std::uint32_t>(same.size());
        same.push_back(k);
      } else {
        auto& siblings = undeclared[creators_[k]];
        identity.order = static_cast<std::uint32_t>(siblings.size());
        siblings.push_back(k);
      }
    }
    for (const auto& [rank, same] : declared)
      for (const std::size_t k : same) identities[k].order_counts = order_counts(same);
    for (const auto& [creator, siblings] : undeclared)
      for (const std::size_t k : siblings) identities[k].order_counts = order_counts(siblings);
    return identities;
  }

  [[nodiscard]] const std::vector<std::size_t>& by_creation() const noexcept {
    return by_creation_;
  }

 private:
  /// RANK decides: a process that has SLURM_PROCID and starts processes with RANK is not one of
  /// these ranks.
  void drop_launchers_declarations() {
    const auto before = declarations_;
    for (std::size_t k = 0; k < ranks_.size(); ++k)
      for (auto launcher = creators_[k]; before[k] && launcher; launcher = creators_[*launcher])
        if (before[*launcher] && before[*launcher]->variable > before[k]->variable)
          declarations_[*launcher].reset();
  }

  void drop_inherited_declarations() {
    const auto before = declarations_;
    for (std::size_t k = 0; k < ranks_.size(); ++k)
      for (auto creator = creators_[k]; before[k] && creator; creator = creators_[*creator])
        if (before[*creator] == before[k]) declarations_[k].reset();
  }

  /// Whose creator had ended hangs below the process that records, or below init: a root of its
  /// own.
  [[nodiscard]] bool order_counts(const std::vector<std::size_t>& group) const {
    if (group.size() < 2) return true;
    const ProcessMark& root = ranks_[by_creation_.front()].origin.path.front();
    std::set<std::uint32_t> threads;
    for (const std::size_t k : group) {
      const RankOrigin& origin = ranks_[k].origin;
      if (origin.path.front() != root) return false;
      if (origin.forking_thread != 0) threads.insert(origin.forking_thread);
    }
    return threads.size() < 2;
  }

  std::span<const NumberedOrigin> ranks_;
  std::vector<std::optional<Declaration>> declarations_;
  std::vector<std::optional<std::size_t>> creators_;  ///< the nearest that is a rank
  std::vector<std::size_t> by_creation_;
};

[[nodiscard]] bool all_known(std::span<const NumberedOrigin> ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const NumberedOrigin& rank) { return rank.origin.known(); });
}

}  // namespace

std::vector<RankIdentity> identify(std::span<const NumberedOrigin> ranks) {
  if (!all_known(ranks)) return std::vector<RankIdentity>(ranks.size());
  return Identification(ranks).identities();
}

std::vector<std::uint32_t> numbers_of(std::span<const NumberedOrigin> ranks) {
  if (!all_known(ranks)) return {};
  const Identification identification(ranks);
  const std::vector<RankIdentity> identities = identification.identities();
  std::vector<std::uint32_t> numbers(ranks.size());
  std::uint32_t next = 0;
  const auto owns_its_number = [](const RankIdentity& identity) {
    return !identity.declared.empty() && identity.restart == 0;
  };
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (!owns_its_number(identities[k])) continue;
    numbers[k] = identities[k].rank;
    next = std::max(next, identities[k].rank + 1);
  }
  for (const std::size_t k : identification.by_creation())
    if (!owns_its_number(identities[k])) numbers[k] = next++;
  return numbers;
}

}  // namespace ulpscope::dump
