#include "compare/root_pairs.hpp"

#include <algorithm>
#include <tuple>

#include "compare/hash.hpp"

namespace ulpscope::comparison {
namespace {

struct Root {
  std::string name;
  std::size_t lane = 0;  ///< index of its pair
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
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    if (!lanes[k]) continue;
    const std::uint32_t lane = lanes[k]->id;
    for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
      const Block block = run.block(rank, lane, index);
      for (const Event& event : block.events) {
        if (event.root.empty()) continue;
        auto root = roots.find(event.root);
        if (root == roots.end()) {
          const std::string name(event.root);
          root = roots.emplace(name, Root{name, k, event.position, {}, false}).first;
        }
        if (event.kind == EventKind::parameters && !root->second.start)
          root->second.start = state_key(event);
      }
    }
  }
  std::vector<Root> ordered;
  for (auto& [name, root] : roots) ordered.push_back(std::move(root));
  std::sort(ordered.begin(), ordered.end(), [](const Root& a, const Root& b) {
    return std::tie(a.lane, a.position) < std::tie(b.lane, b.position);
  });
  return ordered;
}

}  // namespace

RootNames pair_roots(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                     const std::vector<Both<std::optional<Lane>>>& pairs) {
  Both<std::vector<Root>> roots;
  for (const Side side : kSides) {
    std::vector<std::optional<Lane>> lanes;
    for (const auto& pair : pairs) lanes.push_back(on(pair, side));
    on(roots, side) = roots_of(*on(runs, side), on(ranks, side), lanes);
  }
  RootNames names;
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

Block RootedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  Block block = run().block(rank, lane, index);
  for (Event& event : block.events)
    if (const auto name = names_.find(event.root); name != names_.end()) event.root = name->second;
  return block;
}

}  // namespace ulpscope::comparison
