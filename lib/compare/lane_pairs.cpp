#include "compare/lane_pairs.hpp"

#include <algorithm>
#include <cstddef>

#include "compare/hash.hpp"
#include "compare/structure.hpp"

namespace ulpscope::comparison {
namespace {

struct Candidate {
  Lane lane;
  std::uint64_t beginning = 0;
  bool taken = false;
};

/// What a lane's first ops do, for which modules and to which values.
[[nodiscard]] std::uint64_t beginning(const Run& run, std::uint32_t rank, std::uint32_t lane) {
  constexpr std::size_t kOps = 16;
  KeyHash key;
  std::size_t ops = 0;
  for (std::size_t index = 0; index < run.block_count(rank, lane) && ops < kOps; ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events) {
      if (event.kind != EventKind::op) continue;
      key.add(structure_key(event, Place::counts)).add(input_key(event));
      if (++ops == kOps) break;
    }
  }
  return key.value();
}

[[nodiscard]] std::size_t count_training(const std::vector<Lane>& lanes) {
  return static_cast<std::size_t>(std::count_if(lanes.begin(), lanes.end(), [](const Lane& lane) {
    return lane.role == LaneRole::autograd;
  }));
}

}  // namespace

std::vector<Both<std::optional<Lane>>> pair_lanes(const Both<const Run*>& runs,
                                                  const Both<std::uint32_t>& ranks,
                                                  const Both<std::vector<Lane>>& lanes) {
  const bool side_by_side =
      count_training(lanes.reference) > 1 && count_training(lanes.candidate) > 1;
  const auto described = [&](Side side) {
    std::vector<Candidate> all;
    for (const Lane& lane : on(lanes, side)) {
      all.push_back({lane, 0, false});
      if (side_by_side && lane.role == LaneRole::autograd)
        all.back().beginning = beginning(*on(runs, side), on(ranks, side), lane.id);
    }
    return all;
  };
  const std::vector<Candidate> left = described(Side::reference);
  std::vector<Candidate> right = described(Side::candidate);
  std::vector<Both<std::optional<Lane>>> pairs;
  for (const Candidate& one : left) pairs.push_back({one.lane, std::nullopt});
  const auto take = [&](auto fits) {
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (pairs[k].candidate) continue;
      const auto partner = std::find_if(right.begin(), right.end(), [&](const Candidate& other) {
        return !other.taken && other.lane.role == left[k].lane.role && fits(left[k], other);
      });
      if (partner == right.end()) continue;
      partner->taken = true;
      pairs[k].candidate = partner->lane;
    }
  };
  take([](const Candidate& a, const Candidate& b) {
    return a.beginning != 0 && a.beginning == b.beginning;
  });
  take([](const Candidate& a, const Candidate& b) { return a.lane.ordinal == b.lane.ordinal; });
  if (side_by_side)
    take([](const Candidate& a, const Candidate&) { return a.lane.role == LaneRole::autograd; });
  for (const Candidate& other : right)
    if (!other.taken) pairs.push_back({std::nullopt, other.lane});
  return pairs;
}

}  // namespace ulpscope::comparison
