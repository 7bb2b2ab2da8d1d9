#include "cli/check/prefix_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/check/final_finding.hpp"
#include "cli/check/run_progress.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "dump/recovery.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {

/// A comparison of some steps alone is quick, however long the run is.
bool PrefixJudge::equal_since_last(const std::string& snapshot) const {
  if (equal_before_ == 0) return false;  // setup may differ, and no selection of steps has it
  const auto end =
      static_cast<std::int64_t>(std::min(published_steps(snapshot), published_steps(reference_)));
  if (end <= equal_before_) return true;
  const std::string steps = fmt::format("@steps={}-{}", equal_before_, end - 1);
  return compare_dumps(reference_ + steps, snapshot + steps).verdict != Verdict::diverged;
}

/// Which ops of two programs are partners may look otherwise once more of them has come.
bool PrefixJudge::is_confirmed(const Finding& finding) {
  const bool needs_it =
      finding.kind == FindingKind::arguments || finding.kind == FindingKind::sequence;
  const Found found{finding.kind, finding.step, finding.event.reference, finding.event.candidate};
  return std::exchange(last_found_, found) == found || !needs_it;
}

PrefixJudge::Judgement PrefixJudge::judge(const std::filesystem::path& snapshot) {
  static_cast<void>(dump::recover(snapshot));
  Judgement judgement;
  const auto reference = open_run(reference_);
  const auto candidate = open_run(snapshot.string());
  if (!equal_since_last(snapshot.string())) {
    Report report = compare(*reference, *candidate);
    if (const Finding* const found = report.first(); report.verdict == Verdict::diverged) {
      const std::int64_t first = std::max(first_step(*reference), first_step(*candidate));
      if (found != nullptr && is_confirmed(*found) &&
          partners_are_there(report, *reference, *candidate, first) &&
          is_final(*found, *reference, *candidate, newest_around(*found, *reference, *candidate)))
        judgement.diverged = std::move(report);
      else
        judgement.answer = Answer::look_again;
      return judgement;
    }
  }
  std::int64_t newest = newest_step(*candidate);
  if (!reference->info().complete) newest = std::min(newest, newest_step(*reference));
  equal_before_ = std::max(equal_before_, newest);
  return judgement;
}

}  // namespace ulpscope::cli
