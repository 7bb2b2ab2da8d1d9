#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/diff/finding_book.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/diff/shared_tasks.hpp"
#include "compare/measure/value_sums.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// What is known when both runs have been walked.
struct Outlook {
  const Totals& totals;
  const ValueSums& values;
  bool tolerates = false;         ///< a tolerance was requested
  bool diverges = false;          ///< a finding says so
  bool beyond_tolerance = false;  ///< one that no tolerance covers: dtype, shape, missing steps
  Both<bool> complete{};
  Both<std::uint64_t> events{};
  std::uint64_t uncompared_steps = 0;  ///< steps that only one run has, those of `longer` aside
  Both<std::uint64_t> longer{};        ///< steps that a run has after the other's end
  bool allow_longer = false;
  std::uint64_t common_steps = 0;
  std::uint64_t lone_ranks = 0;           ///< ranks that only one run has
  UnequalTasks unequal_tasks = {};        ///< of processes of pools
  std::optional<Side> injected{};         ///< the run that was given values of another one
  std::string shorter_end{};              ///< how the run that ends first has failed, in words
  std::string ends{};                     ///< how the runs end differently, in words
  std::string selects{};                  ///< what one recording alone leaves out, in words
  std::string no_replayer{};              ///< why there is none that judges what propagated
  std::optional<BudgetSummary> budget{};  ///< of all origins, where one was asked for
  bool beyond_budget = false;             ///< a finding that is no origin, or one that was not kept
};

struct Decision {
  Verdict verdict = Verdict::inconclusive;
  std::string reason;  ///< inconclusive: why, to follow "inconclusive: "
};

[[nodiscard]] Decision decide(const Outlook& outlook);

}  // namespace ulpscope::comparison
