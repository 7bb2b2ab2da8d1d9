#include "cli/check/step_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/check/final_finding.hpp"
#include "cli/check/part_of_run.hpp"
#include "cli/check/run_progress.hpp"
#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// Steps that are over are all there, though their run is not.
Report compare_as_whole(const std::string& reference, const std::string& candidate) {
  const auto whole = [](const std::string& dump) {
    auto part = open_run(dump);
    RunInfo info = part->info();
    info.complete = true;
    return PartOfRun(std::move(part), std::move(info));
  };
  const PartOfRun a = whole(reference);
  const PartOfRun b = whole(candidate);
  return compare(a, b);
}

/// No verdict on runs that are being recorded is final: steps of them are equal if all their events
/// are aligned, or what stands on one side only would change nothing at their end.
bool are_equal(const Report& report, const std::string& reference, const std::string& candidate) {
  if (report.verdict != Verdict::inconclusive) return true;
  const Coverage& events = report.coverage;
  if (events.aligned > 0 && events.only_reference == 0 && events.only_candidate == 0) return true;
  return compare_as_whole(reference, candidate).verdict == Verdict::identical;
}

/// Empty if one of the two has none of the steps that its name selects.
std::optional<Report> compare_steps(const std::string& reference, const std::string& candidate) {
  try {
    return compare_dumps(reference, candidate);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::usage) throw;
    return std::nullopt;
  }
}

std::string steps_in_words(std::uint64_t first, std::uint64_t end) {
  return end - first == 1 ? fmt::format("step {}", first)
                          : fmt::format("the steps {} - {}", first, end - 1);
}

}  // namespace

std::string removed_steps(std::uint64_t first, std::uint64_t end) {
  const std::string steps = steps_in_words(first, end);
  return end - first == 1
             ? fmt::format("{} was removed before it could be compared", steps)
             : fmt::format("some of {} were removed before they could be compared", steps);
}

Report compare_dumps(const std::string& reference, const std::string& candidate) {
  const auto a = open_run(reference);
  const auto b = open_run(candidate);
  return compare(*a, *b);
}

std::optional<Report> StepFollower::look() {
  return look(std::min(published_steps(candidate_), published_steps(reference_)));
}

std::optional<Report> StepFollower::look(std::uint64_t end) {
  if (end > 0 && end < next_ && open_.empty())
    open_ = "a thread or process began its steps after those of others had been compared";
  if (end <= next_ || end == undecided_before_) return std::nullopt;
  const std::uint64_t first = next_;
  if (first == 0 && has_beginning(reference_) &&
      has_beginning(candidate_)) {  // a selection of steps leaves out setup
    Report whole = compare_dumps(reference_, candidate_);
    const Finding* const found = whole.first();
    if (whole.verdict == Verdict::diverged && found != nullptr &&
        found->step.value_or(kSetup) < static_cast<std::int64_t>(end))
      return if_certain(std::move(whole), kSetup, end);
  }
  const std::string steps = fmt::format("@steps={}-{}", first, end - 1);
  const auto report = compare_steps(reference_ + steps, candidate_ + steps);
  if (report && report->verdict == Verdict::diverged)
    return if_certain(*report, static_cast<std::int64_t>(first), end);
  next_ = end;
  if (!report || std::min(report->reference.steps, report->candidate.steps) < end - first) {
    open_ = removed_steps(first, end);
    throw Error(ErrorCode::incomplete, open_,
                "keep more steps: --window of live, --keep-last of record");
  }
  if (open_.empty() && !are_equal(*report, reference_ + steps, candidate_ + steps))
    open_ = fmt::format("whether {} are equal is not known", steps_in_words(first, end));
  return std::nullopt;
}

/// All that the first finding is about has been done before `end`.
std::optional<Report> StepFollower::if_certain(Report report, std::int64_t first_step,
                                               std::uint64_t end) {
  if (report.first() != nullptr &&
      partners_are_there(report, *open_run(reference_), *open_run(candidate_), first_step))
    return report;
  undecided_before_ = end;
  return std::nullopt;
}

}  // namespace ulpscope::cli
