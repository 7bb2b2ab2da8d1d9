#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/measure/value_study.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// What the bytes of differing values of a rank show, or of several ranks.
struct ValueSums {
  /// How often a rule of the tolerance decided.
  struct RuleCount {
    std::uint64_t passed = 0;
    std::uint64_t failed = 0;
  };

  std::uint64_t outside = 0;                  ///< differences outside of the tolerance
  std::optional<OutsideValue> first_outside;  ///< the earliest of those that have a distance
  std::uint64_t unknown = 0;                  ///< those whose bytes were not recorded
  std::vector<RuleCount> rules;
  std::map<std::int64_t, GrowthPoint> growth;  ///< by step, without losses
  std::map<std::int64_t, Both<double>> losses;
  Path path;                                  ///< without how far apart the runs are at its points
  std::vector<ValueQuestion> path_questions;  ///< for each point what identifies it

  /// Adds what a different process found in its share of the same rank's values.
  void add_share(const ValueSums& share);
  /// Adds a further rank. Losses and the path are those of the first rank that has them.
  void add_rank(const ValueSums& rank);

  /// By step, how far the gradients are apart where bytes were recorded.
  [[nodiscard]] std::vector<GrowthPoint> growth_points() const;
};

/// How far the gradients of `point` are apart at least.
void grow(GrowthPoint& point, std::optional<std::uint64_t> ulp_max,
          std::optional<double> scaled_max);

}  // namespace ulpscope::comparison
