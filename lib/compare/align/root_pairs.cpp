#include "compare/align/root_pairs.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "compare/align/lane_pairs.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

struct Root {
  std::string name;
  std::size_t lane = 0;  ///< index of the pair of lanes that computes with it first
  std::uint64_t position = 0;
  std::optional<std::uint64_t> start;  ///< what it holds before its first forward
  bool taken = false;
};

/// The name without the number among the roots of the class.
[[nodiscard]] std::string_view class_of(std::string_view root) {
  return root.substr(0, std::min(root.rfind('#'), root.size()));
}

[[nodiscard]] std::uint64_t state_key(const Event& event) {
  KeyHash hash;
  for (const Slot& slot : event.slots) hash.add(slot.name).add(slot.digest);
  return hash.value();
}

/// In the order in which they come in lanes that count.
[[nodiscard]] std::vector<Root> roots_of(const Run& run, std::uint32_t rank,
                                         const std::vector<std::optional<Lane>>& lanes) {
  std::map<std::string, Root, std::less<>> roots;
  std::map<std::pair<std::string, std::size_t>, std::uint64_t> starts;  // by root and lane
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    if (!lanes[k]) continue;
    const std::uint32_t lane = lanes[k]->id;
    for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
      const Block block = run.block(rank, lane, index);
      for (const Event& event : block.events) {
        if (event.root.empty()) continue;
        const bool computes = event.kind == EventKind::op || event.kind == EventKind::module;
        if (event.kind == EventKind::parameters)
          starts.try_emplace({std::string(event.root), k}, state_key(event));
        if (!computes || roots.contains(event.root)) continue;
        const std::string name(event.root);
        roots.emplace(name, Root{name, k, event.position, {}, false});
      }
    }
  }
  std::vector<Root> ordered;
  for (auto& [name, root] : roots) {
    if (const auto start = starts.find({name, root.lane}); start != starts.end())
      root.start = start->second;
    ordered.push_back(std::move(root));
  }
  std::sort(ordered.begin(), ordered.end(), [](const Root& a, const Root& b) {
    return std::tie(a.lane, a.position) < std::tie(b.lane, b.position);
  });
  return ordered;
}

/// The main lane and those that train, in pairs, then the threads that train nothing.
[[nodiscard]] Both<std::vector<std::optional<Lane>>> computing_lanes(
    const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  Both<std::vector<Lane>> paired;
  Both<std::vector<std::optional<Lane>>> threads;
  for (const Side side : kSides)
    for (const Lane& lane : on(runs, side)->lanes(on(ranks, side))) {
      if (lane.role == LaneRole::main || lane.role == LaneRole::trainer)
        on(paired, side).push_back(lane);
      if (lane.role == LaneRole::thread) on(threads, side).emplace_back(lane);
    }
  Both<std::vector<std::optional<Lane>>> lanes;
  if (std::max(paired.reference.size(), paired.candidate.size()) +
          std::max(threads.reference.size(), threads.candidate.size()) <
      2)
    return lanes;
  for (const auto& pair : pair_lanes(runs, ranks, paired, race_for_draws(runs, ranks)))
    for (const Side side : kSides) on(lanes, side).push_back(on(pair, side));
  for (const Side side : kSides)
    on(lanes, side)
        .insert(on(lanes, side).end(), on(threads, side).begin(), on(threads, side).end());
  return lanes;
}

[[nodiscard]] std::map<std::string, std::string, std::less<>> pair_roots(
    const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  Both<std::vector<Root>> roots;
  const auto lanes = computing_lanes(runs, ranks);
  for (const Side side : kSides)
    on(roots, side) = roots_of(*on(runs, side), on(ranks, side), on(lanes, side));
  std::map<std::string, std::string, std::less<>> names;
  const auto take = [&](auto fits) {
    for (Root& one : roots.reference) {
      if (one.taken) continue;
      const auto partner =
          std::find_if(roots.candidate.begin(), roots.candidate.end(), [&](const Root& other) {
            return !other.taken && class_of(one.name) == class_of(other.name) && fits(one, other);
          });
      if (partner == roots.candidate.end()) continue;
      one.taken = partner->taken = true;
      if (one.name != partner->name) names.emplace(partner->name, one.name);
    }
  };
  const auto same_start = [](const Root& a, const Root& b) {
    return a.start && a.start == b.start;
  };
  const auto same_lane = [](const Root& a, const Root& b) { return a.lane == b.lane; };
  take([&](const Root& a, const Root& b) { return same_start(a, b) && same_lane(a, b); });
  take(same_start);
  take(same_lane);
  take([](const Root& a, const Root& b) { return a.name == b.name; });
  take([](const Root&, const Root&) { return true; });
  return names;
}

}  // namespace

RootNames pair_roots(const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& ranks) {
  RootNames names;
  for (const Both<std::uint32_t>& rank : ranks)
    if (auto found = pair_roots(runs, rank); !found.empty())
      names.emplace(rank.candidate, std::move(found));
  return names;
}

Block RootedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  Block block = run().block(rank, lane, index);
  const auto names = names_.find(rank);
  if (names == names_.end()) return block;
  for (Event& event : block.events)
    if (const auto name = names->second.find(event.root); name != names->second.end())
      event.root = name->second;
  return block;
}

}  // namespace ulpscope::comparison
