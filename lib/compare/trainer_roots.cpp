#include "compare/trainer_roots.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// By name, a hash of the parameters that a root begins with.
using Beginnings = std::map<std::string, std::uint64_t, std::less<>>;
using Names = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] std::uint64_t beginning(const Event& parameters) {
  KeyHash hash;
  for (const Slot& slot : parameters.slots) hash.add(slot.name).add(slot.digest);
  return hash.value();
}

[[nodiscard]] bool shows_roots(const Lane& lane) {
  return lane.role == LaneRole::main || lane.role == LaneRole::trainer ||
         lane.role == LaneRole::thread;
}

[[nodiscard]] Beginnings beginnings(const Run& run, std::uint32_t rank) {
  Beginnings found;
  for (const Lane& lane : run.lanes(rank)) {
    if (!shows_roots(lane)) continue;
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      for (const Event& event : block.events)
        if (event.kind == EventKind::parameters)
          found.try_emplace(std::string(event.root), beginning(event));
    }
  }
  return found;
}

[[nodiscard]] bool in_threads(const Run& run, std::uint32_t rank) {
  const std::vector<Lane> lanes = run.lanes(rank);
  return std::count_if(lanes.begin(), lanes.end(), shows_roots) > 1;
}

[[nodiscard]] std::string_view class_of(std::string_view root) {
  return root.substr(0, root.find('#'));
}

/// The candidate's names of roots that begin as the reference's do, under a different name.
[[nodiscard]] Names renumbered(const Beginnings& reference, Beginnings candidate) {
  Names names;
  std::vector<std::pair<std::string, std::uint64_t>> left;
  for (const auto& [root, begins] : reference) {
    const auto same = candidate.find(root);
    if (same != candidate.end() && same->second == begins)
      candidate.erase(same);
    else
      left.emplace_back(root, begins);
  }
  const auto take = [&](auto fits) {
    std::erase_if(left, [&](const auto& one) {
      const auto partner = std::find_if(candidate.begin(), candidate.end(), [&](const auto& other) {
        return class_of(other.first) == class_of(one.first) && fits(one, other);
      });
      if (partner == candidate.end()) return false;
      if (partner->first != one.first) names.emplace(partner->first, one.first);
      candidate.erase(partner);
      return true;
    });
  };
  take([](const auto& one, const auto& other) { return one.second == other.second; });
  if (names.empty()) return names;
  take([](const auto& one, const auto& other) { return one.first == other.first; });
  take([](const auto&, const auto&) { return true; });
  return names;
}

}  // namespace

RootNames renumbered_roots(const Both<const Run*>& runs,
                           const std::vector<Both<std::uint32_t>>& ranks) {
  RootNames names;
  for (const Both<std::uint32_t>& rank : ranks) {
    if (!in_threads(*runs.reference, rank.reference) ||
        !in_threads(*runs.candidate, rank.candidate))
      continue;
    Names found = renumbered(beginnings(*runs.reference, rank.reference),
                             beginnings(*runs.candidate, rank.candidate));
    if (!found.empty()) names.emplace(rank.candidate, std::move(found));
  }
  return names;
}

Block RenumberedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  Block block = run().block(rank, lane, index);
  const auto names = names_.find(rank);
  if (names == names_.end()) return block;
  for (Event& event : block.events)
    if (const auto name = names->second.find(event.root); name != names->second.end())
      event.root = name->second;
  return block;
}

}  // namespace ulpscope::comparison
