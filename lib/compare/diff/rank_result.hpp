#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/measure/value_share.hpp"
#include "compare/measure/value_sums.hpp"

namespace ulpscope::comparison {

/// The results of comparing ranks. It is self-contained, so that a different process can have found
/// it.
struct RankResult {
  /// Listed findings in the report's order, at most as many as a report shows.
  std::vector<Record> records;
  std::uint64_t found = 0;        ///< those, and the ones that were left out or not kept
  bool diverges = false;          ///< a finding says so
  bool beyond_tolerance = false;  ///< one that no tolerance covers
  BudgetSummary budget;           ///< if one was requested, of all origins
  bool beyond_budget = false;     ///< a finding that is not an origin, or one that was not kept
  /// Where one run goes on after the other's end, if nothing else in these ranks diverges. It may
  /// follow from a different rank.
  std::optional<Record> missing_steps;
  Totals totals;
  ValueSums values;
  std::uint64_t uncompared_steps = 0;  ///< steps that only one run has, those of `longer` aside
  Both<std::uint64_t> longer;          ///< steps that a run has after the other's end
  std::vector<std::string> unseen;     ///< what could not be compared, in words

  /// Adds the results of a later rank.
  void add(RankResult&& rank, const CompareOptions& options);
};

/// Diverging findings first, among them those that rounding does not explain, then those for which
/// that is unknown, each by step, position, lane and rank. What a different rank contributed to a
/// collective comes after the rest of its step: that rank diverges first, whatever its positions
/// are.
void put_in_order(std::vector<Record>& records, const CompareOptions& options);

/// Compares one rank of one run with one of another. Of the values that differ it measures those in
/// `share`; their results are in RankResult::values, which includes what all processes find only
/// `with_common`.
[[nodiscard]] RankResult compare_rank(const Both<const Run*>& runs,
                                      const Both<std::uint32_t>& ranks,
                                      const CompareOptions& options, ValueJudge& judge,
                                      bool with_common = true);

}  // namespace ulpscope::comparison
