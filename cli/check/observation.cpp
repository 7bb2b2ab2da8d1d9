#include "cli/check/observation.hpp"

#include <algorithm>

namespace ulpscope::cli {
namespace {

bool leaves_something(const MadeRun& run) {
  return !run.final_lines.empty() ||
         std::any_of(run.finals.begin(), run.finals.end(), [](const auto& file) { return file; });
}

bool all_leave_the_same(const std::vector<const MadeRun*>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const MadeRun* run) { return run->leaves_the_same(*runs.front()); });
}

bool any_leaves_the_same(const std::vector<const MadeRun*>& some,
                         const std::vector<const MadeRun*>& others) {
  return std::any_of(some.begin(), some.end(), [&](const MadeRun* one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const MadeRun* other) { return one->leaves_the_same(*other); });
  });
}

}  // namespace

std::string_view name(Observation observation) noexcept {
  switch (observation) {
    case Observation::unknown:
      return "unknown";
    case Observation::same:
      return "same";
    case Observation::unclear:
      return "unclear";
    case Observation::bare_differ:
      return "bare_differ";
    case Observation::recorded_differ:
      return "recorded_differ";
  }
  return "unknown";
}

Observation observe(const std::vector<const MadeRun*>& bare,
                    const std::vector<const MadeRun*>& recorded, bool computed_the_same) {
  if (bare.empty() || recorded.empty() || !leaves_something(*bare.front()))
    return Observation::unknown;
  const bool bare_agree = all_leave_the_same(bare);
  const bool recorded_agree = all_leave_the_same(recorded);
  if (any_leaves_the_same(bare, recorded))
    return bare_agree || !computed_the_same ? Observation::same : Observation::bare_differ;
  if (!recorded_agree) return Observation::unclear;
  if (bare.size() < 2 || recorded.size() < 2) return Observation::unclear;
  return bare_agree ? Observation::recorded_differ : Observation::bare_differ;
}

}  // namespace ulpscope::cli
