#include "compare/align/rank_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// Ops whose results show which ranks do the same.
constexpr std::size_t kOps = 4096;

using Numbers = std::vector<std::uint32_t>;

/// What a rank's main lane, or else its first one, computes first: keys of results, sorted.
[[nodiscard]] std::vector<std::uint64_t> first_results(const Run& run, std::uint32_t rank) {
  std::vector<std::uint64_t> keys;
  const std::vector<Lane> lanes = run.lanes(rank);
  auto lane = std::find_if(lanes.begin(), lanes.end(),
                           [](const Lane& one) { return one.role == LaneRole::main; });
  if (lane == lanes.end()) lane = lanes.begin();
  if (lane == lanes.end()) return keys;
  for (std::size_t k = 0; k < run.block_count(rank, lane->id) && keys.size() < kOps; ++k) {
    const Block block = run.block(rank, lane->id, k);
    for (const Event& event : block.events) {
      if (event.kind != EventKind::op || keys.size() == kOps) continue;
      if (const std::uint64_t key = output_key(event); key != 0) keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

class Pairing {
 public:
  Pairing(const Both<const Run*>& runs, const Both<std::set<std::uint32_t>>& shared) : runs_(runs) {
    for (const Side side : kSides)
      for (const std::uint32_t rank : on(runs, side)->ranks()) {
        if (on(shared, side).contains(rank)) continue;
        const RankIdentity identity = on(runs, side)->identity(rank);
        all_known_ = all_known_ && identity.known;
        on(left_, side).emplace(rank, identity);
      }
  }

  [[nodiscard]] std::vector<RankPair> pairs() {
    if (left_.reference.size() == 1 && left_.candidate.size() == 1) {
      pair({left_.reference.begin()->first, left_.candidate.begin()->first}, RankMatch::number);
    } else if (all_known_) {
      pair_declared();
      pair_children(std::nullopt);
      for (std::size_t k = 0; k < pairs_.size(); ++k) pair_children(pairs_[k].numbers);
      pair_by_content(
          some([](Side, const RankIdentity& identity) { return identity.declared.empty(); },
               [](const RankIdentity& identity) { return identity.order; }),
          false);
    }
    pair_by_number();
    std::sort(pairs_.begin(), pairs_.end(), [](const RankPair& a, const RankPair& b) {
      return a.numbers.reference < b.numbers.reference;
    });
    return std::move(pairs_);
  }

 private:
  void pair(const Both<std::uint32_t>& numbers, RankMatch by) {
    RankPair pair{numbers, by, left_.reference.at(numbers.reference)};
    for (const Side side : kSides) on(left_, side).erase(on(numbers, side));
    pairs_.push_back(std::move(pair));
  }

  /// Of those without a partner, in a fixed order.
  template <class Wanted, class Place>
  [[nodiscard]] Both<Numbers> some(const Wanted& wanted, const Place& place) const {
    Both<Numbers> numbers;
    for (const Side side : kSides) {
      for (const auto& [rank, identity] : on(left_, side))
        if (wanted(side, identity)) on(numbers, side).push_back(rank);
      std::stable_sort(on(numbers, side).begin(), on(numbers, side).end(),
                       [&](std::uint32_t a, std::uint32_t b) {
                         return place(on(left_, side).at(a)) < place(on(left_, side).at(b));
                       });
    }
    return numbers;
  }

  void pair_declared() {
    std::vector<std::uint32_t> declared;
    for (const auto& [rank, identity] : left_.reference)
      if (!identity.declared.empty()) declared.push_back(identity.rank);
    for (const std::uint32_t rank : declared)
      pair_group(some(
                     [&](Side, const RankIdentity& identity) {
                       return !identity.declared.empty() && identity.rank == rank;
                     },
                     [](const RankIdentity& identity) { return identity.restart; }),
                 RankMatch::declared);
  }

  /// Those that declare nothing and that `creators` created, or no process that is a rank.
  void pair_children(const std::optional<Both<std::uint32_t>>& creators) {
    pair_group(some(
                   [&](Side side, const RankIdentity& identity) {
                     const auto creator =
                         creators ? std::optional(on(*creators, side)) : std::nullopt;
                     return identity.declared.empty() && identity.creator == creator;
                   },
                   [](const RankIdentity& identity) { return identity.order; }),
               RankMatch::creation);
  }

  /// Processes that only their order distinguishes.
  void pair_group(const Both<Numbers>& group, RankMatch by) {
    const auto order_counts = [&](Side side) {
      return std::all_of(on(group, side).begin(), on(group, side).end(),
                         [&](std::uint32_t rank) { return on(left_, side).at(rank).order_counts; });
    };
    const bool by_order =
        by == RankMatch::declared || group.reference.size() == group.candidate.size();
    if (by_order && order_counts(Side::reference) && order_counts(Side::candidate))
      pair_in_order(group, by);
    else
      pair_by_content(group, true);
  }

  void pair_in_order(const Both<Numbers>& group, RankMatch by) {
    const std::size_t count = std::min(group.reference.size(), group.candidate.size());
    for (std::size_t k = 0; k < count; ++k) pair({group.reference[k], group.candidate[k]}, by);
  }

  /// Those with most in common first; those with nothing in common in their order, or not at all.
  void pair_by_content(const Both<Numbers>& group, bool others_too) {
    if (group.reference.empty() || group.candidate.empty()) return;
    Both<std::map<std::uint32_t, std::vector<std::uint64_t>>> results;
    for (const Side side : kSides)
      for (const std::uint32_t rank : on(group, side))
        on(results, side).emplace(rank, first_results(*on(runs_, side), rank));
    struct Likeness {
      std::size_t common;
      std::size_t reference;  ///< index into the group
      std::size_t candidate;
    };
    std::vector<Likeness> likenesses;
    for (std::size_t i = 0; i < group.reference.size(); ++i)
      for (std::size_t k = 0; k < group.candidate.size(); ++k) {
        std::vector<std::uint64_t> common;
        std::ranges::set_intersection(results.reference.at(group.reference[i]),
                                      results.candidate.at(group.candidate[k]),
                                      std::back_inserter(common));
        if (!common.empty()) likenesses.push_back({common.size(), i, k});
      }
    std::stable_sort(likenesses.begin(), likenesses.end(),
                     [](const Likeness& a, const Likeness& b) { return a.common > b.common; });
    for (const Likeness& likeness : likenesses) {
      const Both<std::uint32_t> numbers{group.reference[likeness.reference],
                                        group.candidate[likeness.candidate]};
      if (left_.reference.contains(numbers.reference) &&
          left_.candidate.contains(numbers.candidate))
        pair(numbers, RankMatch::content);
    }
    if (!others_too) return;
    Both<Numbers> others;
    for (const Side side : kSides)
      std::copy_if(on(group, side).begin(), on(group, side).end(),
                   std::back_inserter(on(others, side)),
                   [&](std::uint32_t rank) { return on(left_, side).contains(rank); });
    pair_in_order(others, RankMatch::creation);
  }

  void pair_by_number() {
    for (auto next = left_.reference.begin(); next != left_.reference.end();) {
      const auto [rank, identity] = *next++;
      const auto other = left_.candidate.find(rank);
      if (other == left_.candidate.end()) continue;
      const bool are_others = !identity.declared.empty() && !other->second.declared.empty();
      if (!are_others) pair({rank, rank}, RankMatch::number);
    }
  }

  const Both<const Run*>& runs_;
  Both<std::map<std::uint32_t, RankIdentity>> left_;  ///< without a partner yet
  std::vector<RankPair> pairs_;
  bool all_known_ = true;
};

}  // namespace

std::vector<RankPair> rank_pairs(const Both<const Run*>& runs,
                                 const Both<std::set<std::uint32_t>>& shared) {
  return Pairing(runs, shared).pairs();
}

}  // namespace ulpscope::comparison
