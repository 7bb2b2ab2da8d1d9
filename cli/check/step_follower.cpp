#include "cli/check/step_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// The step after the last one that a rank has published.
std::uint64_t end_of(const Run& run, std::uint32_t rank) {
  std::int64_t last = kSetup;
  for (const Lane& lane : run.lanes(rank))
    if (const std::size_t blocks = run.block_count(rank, lane.id); blocks > 0)
      last = std::max(last, run.block(rank, lane.id, blocks - 1).step);
  return static_cast<std::uint64_t>(last + 1);
}

/// A run that is being recorded is incomplete, so that no verdict on it is final: its steps are
/// equal if all their events are aligned.
bool leaves_nothing_open(const Report& report) {
  const Coverage& events = report.coverage;
  return report.verdict != Verdict::inconclusive ||
         (events.aligned > 0 && events.only_reference == 0 && events.only_candidate == 0);
}

}  // namespace

Report compare_dumps(const std::string& reference, const std::string& candidate) {
  const auto a = open_run(reference);
  const auto b = open_run(candidate);
  return compare(*a, *b);
}

std::uint64_t published_steps(const std::string& dump) {
  try {
    const auto run = open_run(dump);
    const std::vector<std::uint32_t> ranks = run->ranks();
    if (ranks.empty()) return 0;
    std::uint64_t steps = kNone;
    for (const std::uint32_t rank : ranks) steps = std::min(steps, end_of(*run, rank));
    return steps;
  } catch (const Error&) {
    return 0;
  }
}

std::optional<Report> StepFollower::look() {
  return look(std::min(published_steps(candidate_), published_steps(reference_)));
}

std::optional<Report> StepFollower::look(std::uint64_t steps) {
  if (steps <= next_) return std::nullopt;
  const std::uint64_t first = std::exchange(next_, steps);
  if (first == 0) {  // a selection of steps leaves out setup, where runs may diverge
    Report whole = compare_dumps(reference_, candidate_);
    const Finding* const found = whole.first();
    if (found != nullptr && found->step.value_or(kSetup) < static_cast<std::int64_t>(steps))
      return whole;
  }
  const std::string selected = fmt::format("@steps={}-{}", first, steps - 1);
  Report report = compare_dumps(reference_ + selected, candidate_ + selected);
  if (report.verdict == Verdict::diverged) return report;
  if (std::min(report.reference.steps, report.candidate.steps) < steps - first)
    throw Error(ErrorCode::incomplete,
                fmt::format("some of the steps {} - {} were removed before they could be compared",
                            first, steps - 1),
                "keep more steps: --window of live, --keep-last of record");
  conclusive_ = conclusive_ && leaves_nothing_open(report);
  return std::nullopt;
}

}  // namespace ulpscope::cli
