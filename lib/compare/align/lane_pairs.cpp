#include "compare/align/lane_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "compare/align/course.hpp"
#include "compare/align/lane_ops.hpp"

namespace ulpscope::comparison {
namespace {

struct Candidate {
  Lane lane;
  Course values{Course::Of::values};
  Course structure{Course::Of::structure};
  bool taken = false;
};

[[nodiscard]] std::string_view innermost_call(const Lane& lane) {
  const std::string_view calls = lane.created_by;
  return calls.substr(0, calls.find(' '));
}

[[nodiscard]] std::size_t count_trainers(const std::vector<Lane>& lanes) {
  return static_cast<std::size_t>(std::count_if(
      lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.role == LaneRole::trainer; }));
}

}  // namespace

std::vector<Both<std::optional<Lane>>> pair_lanes(const Both<const Run*>& runs,
                                                  const Both<std::uint32_t>& ranks,
                                                  const Both<std::vector<Lane>>& lanes,
                                                  DrawRace race) {
  const bool side_by_side =
      std::max(count_trainers(lanes.reference), count_trainers(lanes.candidate)) > 1;
  const auto described = [&](Side side) {
    std::vector<Candidate> all;
    for (const Lane& lane : on(lanes, side)) {
      Candidate& one = all.emplace_back(Candidate{.lane = lane});
      if (!side_by_side || lane.role != LaneRole::trainer) continue;
      for_each_op(*on(runs, side), on(ranks, side), lane.id, [&](const Event& op, std::int64_t) {
        one.values.add(op);
        one.structure.add(op);
      });
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
  const auto same_origin = [](const Candidate& a, const Candidate& b) {
    return !a.lane.created_by.empty() && a.lane.created_by == b.lane.created_by &&
           a.lane.thread_name == b.lane.thread_name;
  };
  const auto same_call = [](const Candidate& a, const Candidate& b) {
    const std::string_view call = innermost_call(a.lane);
    return !call.empty() && call == innermost_call(b.lane);
  };
  using Fits = std::function<bool(const Candidate&, const Candidate&)>;
  const auto with_same_number = [&](const Fits& fits) -> Fits {
    return [=](const Candidate& a, const Candidate& b) { return fits(a, b) && same_number(a, b); };
  };
  const std::vector<Fits> by_origin{with_same_number(same_origin), same_origin,
                                    with_same_number(same_call), same_call, same_number};
  const auto same_values = [](const Candidate& a, const Candidate& b) {
    return !a.values.empty() && a.values == b.values;
  };
  const auto take_longest = [&](Course Candidate::*course) {
    std::size_t longest = 0;
    for (const Candidate& one : left) longest = std::max(longest, common(one.*course, one.*course));
    for (; longest > 0; --longest) {
      const auto as_long = [&](const Candidate& a, const Candidate& b) {
        return common(a.*course, b.*course) >= longest;
      };
      const auto as_long_and = [&](auto fits) {
        take([&](const Candidate& a, const Candidate& b) { return fits(a, b) && as_long(a, b); });
      };
      for (const auto& fits : by_origin) as_long_and(fits);
      take(as_long);
    }
  };
  if (race == DrawRace::fixed_work)
    take([&](const Candidate& a, const Candidate& b) {
      return a.lane.role == LaneRole::trainer && same_number(a, b);
    });
  take([&](const Candidate& a, const Candidate& b) {
    return same_values(a, b) && same_number(a, b);
  });
  take(same_values);
  take_longest(&Candidate::values);
  take_longest(&Candidate::structure);
  for (const auto& fits : by_origin) take(fits);
  take([](const Candidate& a, const Candidate&) { return a.lane.role == LaneRole::trainer; });
  for (const Candidate& other : right)
    if (!other.taken) pairs.push_back({std::nullopt, other.lane});
  return pairs;
}

}  // namespace ulpscope::comparison
