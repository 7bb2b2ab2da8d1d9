#include "compare/measure/value_sums.hpp"

#include <algorithm>
#include <tuple>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_earlier(const OutsideValue& one, const OutsideValue& other) {
  return std::tie(one.step, one.event) < std::tie(other.step, other.event);
}

void add_counts(ValueSums& to, const ValueSums& more) {
  to.outside += more.outside;
  if (more.first_outside &&
      (!to.first_outside || is_earlier(*more.first_outside, *to.first_outside)))
    to.first_outside = more.first_outside;
  to.unknown += more.unknown;
  to.rules.resize(std::max(to.rules.size(), more.rules.size()));
  for (std::size_t k = 0; k < more.rules.size(); ++k) {
    to.rules[k].passed += more.rules[k].passed;
    to.rules[k].failed += more.rules[k].failed;
  }
  for (const auto& [step, point] : more.growth) {
    GrowthPoint& own = to.growth[step];
    own.step = step;
    grow(own, point.ulp_max, point.scaled_max);
  }
}

}  // namespace

void grow(GrowthPoint& point, std::optional<std::uint64_t> ulp_max,
          std::optional<double> scaled_max) {
  if (ulp_max) point.ulp_max = std::max(point.ulp_max.value_or(0), *ulp_max);
  if (scaled_max) point.scaled_max = std::max(point.scaled_max.value_or(0), *scaled_max);
}

void ValueSums::add_share(const ValueSums& share) { add_counts(*this, share); }

void ValueSums::add_rank(const ValueSums& rank) {
  add_counts(*this, rank);
  losses.insert(rank.losses.begin(), rank.losses.end());
  if (!path.points.empty()) return;
  path = rank.path;
  path_questions = rank.path_questions;
}

std::vector<GrowthPoint> ValueSums::growth_points() const {
  std::vector<GrowthPoint> points;
  for (const auto& [step, point] : growth) {
    points.push_back(point);
    if (const auto loss = losses.find(step); loss != losses.end())
      points.back().loss = loss->second;
  }
  return points;
}

}  // namespace ulpscope::comparison
