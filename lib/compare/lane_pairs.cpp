#include "compare/lane_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/hash.hpp"
#include "compare/structure.hpp"

namespace ulpscope::comparison {
namespace {

struct Candidate {
  Lane lane;
  /// What its first 1, 2, 4, ... ops did, and to which values; the last one is of all of them.
  std::vector<std::uint64_t> course;
  bool taken = false;
};

[[nodiscard]] std::vector<std::uint64_t> course_of(const Run& run, std::uint32_t rank,
                                                   std::uint32_t lane) {
  std::vector<std::uint64_t> course;
  KeyHash key;
  std::uint64_t ops = 0;
  for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events) {
      if (event.kind != EventKind::op) continue;
      key.add(structure_key(event, Place::ignored)).add(input_key(event)).add(output_key(event));
      if (std::has_single_bit(++ops)) course.push_back(key.value());
    }
  }
  course.push_back(KeyHash().add(key.value()).add(ops).value());
  return course;
}

/// How many of the first ops, by their numbers of digits, were the same.
[[nodiscard]] std::size_t common(const Candidate& a, const Candidate& b) {
  const auto [end, other] =
      std::mismatch(a.course.begin(), a.course.end(), b.course.begin(), b.course.end());
  return static_cast<std::size_t>(end - a.course.begin());
}

/// What ops of a lane did that read a value: an op, what it read and what it made of it.
using Done = std::unordered_set<std::uint64_t>;

[[nodiscard]] Done done_in(const Run& run, std::uint32_t rank, std::uint32_t lane) {
  Done done;
  for (std::size_t index = 0; index < run.block_count(rank, lane); ++index) {
    const Block block = run.block(rank, lane, index);
    for (const Event& event : block.events) {
      const std::uint64_t read = input_key(event);
      const std::uint64_t made = output_key(event);
      if (event.kind == EventKind::op && read != 0 && made != 0)
        done.insert(
            KeyHash().add(structure_key(event, Place::ignored)).add(read).add(made).value());
    }
  }
  return done;
}

[[nodiscard]] std::size_t count_trainers(const std::vector<Lane>& lanes) {
  return static_cast<std::size_t>(std::count_if(
      lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.role == LaneRole::trainer; }));
}

}  // namespace

std::vector<Both<std::optional<Lane>>> pair_lanes(const Both<const Run*>& runs,
                                                  const Both<std::uint32_t>& ranks,
                                                  const Both<std::vector<Lane>>& lanes) {
  const bool side_by_side =
      std::max(count_trainers(lanes.reference), count_trainers(lanes.candidate)) > 1;
  const auto described = [&](Side side) {
    std::vector<Candidate> all;
    for (const Lane& lane : on(lanes, side)) {
      all.push_back({lane, {}, false});
      if (side_by_side && lane.role == LaneRole::trainer)
        all.back().course = course_of(*on(runs, side), on(ranks, side), lane.id);
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
  const auto same_number = [](const Candidate& a, const Candidate& b) {
    return a.lane.ordinal == b.lane.ordinal;
  };
  const auto same_course = [](const Candidate& a, const Candidate& b) {
    return !a.course.empty() && a.course == b.course;
  };
  take([&](const Candidate& a, const Candidate& b) {
    return same_course(a, b) && same_number(a, b);
  });
  take(same_course);
  std::size_t longest = 0;
  for (const Candidate& one : left) longest = std::max(longest, one.course.size());
  for (; longest > 0; --longest)
    take([&](const Candidate& a, const Candidate& b) { return common(a, b) >= longest; });
  take(same_number);
  take([](const Candidate& a, const Candidate&) { return a.lane.role == LaneRole::trainer; });
  for (const Candidate& other : right)
    if (!other.taken) pairs.push_back({std::nullopt, other.lane});
  return pairs;
}

bool has_moved_work(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                    const std::vector<Both<std::optional<Lane>>>& pairs) {
  std::vector<Both<Done>> done;
  for (const auto& pair : pairs) {
    Both<Done> both;
    bool trains = false;
    for (const Side side : kSides) {
      if (!on(pair, side) || on(pair, side)->role != LaneRole::trainer) continue;
      on(both, side) = done_in(*on(runs, side), on(ranks, side), on(pair, side)->id);
      trains = true;
    }
    if (trains) done.push_back(std::move(both));
  }
  if (done.size() < 2) return false;
  // By content, the pairs of which the reference alone has it, and the candidate alone.
  std::unordered_map<std::uint64_t, Both<bool>> lone;
  for (const Both<Done>& pair : done)
    for (const Side side : kSides)
      for (const std::uint64_t op : on(pair, side))
        if (!on(pair, the_other(side)).contains(op)) on(lone[op], side) = true;
  return std::any_of(lone.begin(), lone.end(),
                     [](const auto& op) { return op.second.reference && op.second.candidate; });
}

}  // namespace ulpscope::comparison
