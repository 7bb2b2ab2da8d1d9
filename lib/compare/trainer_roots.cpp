#include "compare/trainer_roots.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "compare/lane_pairs.hpp"

namespace ulpscope::comparison {
namespace {

/// In the order in which the lane comes to them.
[[nodiscard]] std::vector<std::string> roots_of(const Run& run, std::uint32_t rank,
                                                std::uint32_t lane) {
  std::vector<std::string> roots;
  for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events)
      if (!event.root.empty() && std::find(roots.begin(), roots.end(), event.root) == roots.end())
        roots.emplace_back(event.root);
  }
  return roots;
}

[[nodiscard]] std::string_view without_number(std::string_view root) {
  return root.substr(0, root.find('#'));
}

[[nodiscard]] std::vector<Lane> trainers(const Run& run, std::uint32_t rank) {
  std::vector<Lane> lanes = run.lanes(rank);
  std::erase_if(lanes, [](const Lane& lane) { return lane.role != LaneRole::trainer; });
  return lanes;
}

}  // namespace

RootNames renumbered_roots(const Both<const Run*>& runs,
                           const std::vector<Both<std::uint32_t>>& ranks) {
  RootNames names;
  for (const Both<std::uint32_t>& rank : ranks) {
    const Both<std::vector<Lane>> lanes{trainers(*runs.reference, rank.reference),
                                        trainers(*runs.candidate, rank.candidate)};
    if (lanes.reference.empty() || lanes.candidate.empty()) continue;
    std::map<std::string, std::string, std::less<>> found;
    bool any = false;
    for (const auto& pair : pair_lanes(runs, rank, lanes)) {
      if (!pair.reference || !pair.candidate) continue;
      const auto left = roots_of(*runs.reference, rank.reference, pair.reference->id);
      const auto right = roots_of(*runs.candidate, rank.candidate, pair.candidate->id);
      for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k) {
        if (without_number(left[k]) != without_number(right[k])) continue;
        if (found.try_emplace(right[k], left[k]).second && left[k] != right[k]) any = true;
      }
    }
    if (any) names.emplace(rank.candidate, std::move(found));
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
