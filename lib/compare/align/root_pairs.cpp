#include "compare/align/root_pairs.hpp"

#include <algorithm>
#include <cstddef>
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
  std::optional<std::uint64_t> names;  ///< of its parameters and buffers
  bool taken = false;
};

/// The name without the number among the roots of the class.
[[nodiscard]] std::string_view class_of(std::string_view root) {
  return root.substr(0, std::min(root.rfind('#'), root.size()));
}

/// What a model shows of its parameters and buffers.
struct Shown {
  std::uint64_t state = 0;
  std::uint64_t names = 0;
};

[[nodiscard]] Shown shown_in(const Event& event) {
  KeyHash state;
  KeyHash names;
  for (const Slot& slot : event.slots) {
    state.add(slot.name).add(slot.digest);
    names.add(slot.name);
  }
  return {state.value(), names.value()};
}

/// Of a lane, where one thread alone computes.
constexpr std::size_t kFirstBlocks = 256;

/// In the order in which they come in lanes that count. Where one thread alone computes, a model
/// that only shows what it holds is one as well, and nothing but the beginning is read.
[[nodiscard]] std::vector<Root> roots_of(const Run& run, std::uint32_t rank,
                                         const std::vector<std::optional<Lane>>& lanes,
                                         bool one_thread) {
  std::map<std::string, Root, std::less<>> roots;
  std::map<std::pair<std::string, std::size_t>, Shown> starts;  // by root and lane
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    if (!lanes[k]) continue;
    const std::uint32_t lane = lanes[k]->id;
    const std::size_t all = run.block_count(rank, lane);
    const std::size_t blocks = one_thread ? std::min(all, kFirstBlocks) : all;
    for (std::size_t index = 0; index < blocks; ++index) {
      const Block block = run.block(rank, lane, index);
      for (const Event& event : block.events) {
        if (event.root.empty()) continue;
        const bool shows = event.kind == EventKind::parameters;
        const bool counts =
            event.kind == EventKind::op || event.kind == EventKind::module || (one_thread && shows);
        if (shows) starts.try_emplace({std::string(event.root), k}, shown_in(event));
        if (!counts || roots.contains(event.root)) continue;
        const std::string name(event.root);
        roots.emplace(name, Root{name, k, event.position, {}, {}, false});
      }
    }
  }
  std::vector<Root> ordered;
  for (auto& [name, root] : roots) {
    if (const auto start = starts.find({name, root.lane}); start != starts.end()) {
      root.start = start->second.state;
      root.names = start->second.names;
    }
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
  const bool one_thread = std::max(lanes.reference.size(), lanes.candidate.size()) < 2;
  for (const Side side : kSides)
    on(roots, side) = roots_of(*on(runs, side), on(ranks, side), on(lanes, side), one_thread);
  std::map<std::string, std::string, std::less<>> names;
  const auto take_any_class = [&](auto fits) {
    for (Root& one : roots.reference) {
      if (one.taken) continue;
      const auto partner =
          std::find_if(roots.candidate.begin(), roots.candidate.end(),
                       [&](const Root& other) { return !other.taken && fits(one, other); });
      if (partner == roots.candidate.end()) continue;
      one.taken = partner->taken = true;
      if (one.name != partner->name) names.emplace(partner->name, one.name);
    }
  };
  const auto take = [&](auto fits) {
    take_any_class([&](const Root& a, const Root& b) {
      return class_of(a.name) == class_of(b.name) && fits(a, b);
    });
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
  take_any_class(same_start);
  take_any_class([](const Root& a, const Root& b) { return a.names && a.names == b.names; });
  const auto left = [](const std::vector<Root>& all) {
    return std::ranges::count(all, false, &Root::taken);
  };
  if (left(roots.reference) == left(roots.candidate))
    take_any_class([](const Root&, const Root&) { return true; });
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
