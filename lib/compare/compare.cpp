#include "ulpscope/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/budget/budget_judge.hpp"
#include "compare/causes/rules.hpp"
#include "compare/differences.hpp"
#include "compare/each_run.hpp"
#include "compare/environment.hpp"
#include "compare/finding_book.hpp"
#include "compare/rank_comparison.hpp"
#include "compare/renamed_run.hpp"
#include "compare/summary.hpp"
#include "compare/value_judge.hpp"
#include "compare/verdict.hpp"
#include "compare/words.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope {
namespace {

using namespace comparison;

/// Findings that the diagnosis rules look at; what follows has mostly the same causes.
constexpr std::size_t kDiagnosed = 20;

/// What no number can allow.
[[nodiscard]] bool beyond_tolerance(const Record& record) {
  const Both<std::uint32_t>& flags = record.evidence.event_flags;
  const bool one_threw = (flags.reference ^ flags.candidate) & event_flag::threw;
  return record.finding.diverges && (record.finding.kind == FindingKind::metadata || one_threw ||
                                     record.evidence.missing_steps);
}

class Comparison {
 public:
  Comparison(const Run& reference, const Run& candidate, const CompareOptions& options)
      : runs_{&reference, &candidate}, options_(options), judge_(options) {}

  [[nodiscard]] Report report() {
    Report report;
    report.reference = summary_of(*runs_.reference);
    report.candidate = summary_of(*runs_.candidate);
    compare_ranks(report);
    if (options_.golden) report.golden = golden_conditions(report.environment);
    take_findings(report);
    report.coverage = totals_.coverage;
    report.coverage.not_compared.no_bytes = without_bytes_;
    report.coverage.unseen = unseen();
    report.propagated = totals_.propagated;
    if (report.propagated.events > 0)
      report.propagated.note =
          "an origin among these cannot be separated from what they inherited; giving them the "
          "reference's inputs would separate it";
    report.growth = judge_.growth();
    report.path = judge_.path();
    report.rules = judge_.tolerance().rules();
    report.budget = budget_;
    const Decision decision = decide(outlook());
    report.verdict = decision.verdict;
    diagnose(report);
    report.summary = summary(report, decision.reason);
    return report;
  }

 private:
  [[nodiscard]] static RunSummary summary_of(const Run& run) {
    const RunInfo& info = run.info();
    return {info.path,  info.command, info.complete, info.ranks,
            info.steps, info.events,  info.values,   info.level};
  }

  /// Ranks with the same number, or the only rank of either run.
  [[nodiscard]] std::vector<Both<std::uint32_t>> rank_pairs() {
    const auto left = runs_.reference->ranks();
    const auto right = runs_.candidate->ranks();
    if (left.size() == 1 && right.size() == 1) return {{left.front(), right.front()}};
    std::vector<Both<std::uint32_t>> pairs;
    const auto has = [](const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    const auto alone = [&](Side side, std::uint32_t rank) {
      ++lone_ranks_;
      unseen_.push_back(fmt::format("only the {} has rank {}", name(side), rank));
    };
    for (const std::uint32_t rank : left) {
      if (has(right, rank))
        pairs.push_back({rank, rank});
      else
        alone(Side::reference, rank);
    }
    for (const std::uint32_t rank : right)
      if (!has(left, rank)) alone(Side::candidate, rank);
    return pairs;
  }

  void compare_ranks(Report& report) {
    std::map<std::string, EnvironmentDifference> environment;
    for (const auto& ranks : rank_pairs()) {
      RankComparison comparison(*runs_.reference, *runs_.candidate, ranks, options_, book_, totals_,
                                judge_);
      comparison.run();
      for (auto& difference :
           environment_differences(runs_.reference->environment(ranks.reference),
                                   runs_.candidate->environment(ranks.candidate),
                                   options_.step_offset, comparison.begins_late()))
        environment.try_emplace(difference.key, difference);
      const auto& extra = comparison.extra_steps();
      uncompared_steps_ += comparison.skipped_steps() + extra.reference + extra.candidate;
      unseen_.insert(unseen_.end(), comparison.unseen().begin(), comparison.unseen().end());
    }
    for (auto& entry : environment) report.environment.push_back(std::move(entry.second));
    std::stable_sort(report.environment.begin(), report.environment.end(),
                     [](const EnvironmentDifference& a, const EnvironmentDifference& b) {
                       return a.can_change_bits > b.can_change_bits;
                     });
  }

  /// Orders what was found: diverging findings first, each by step, position, lane and rank.
  void take_findings(Report& report) {
    if (options_.budget) add_up_budgets();
    auto& records = book_.records();
    std::erase_if(records, [](const Record& record) { return !record.listed; });
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      const auto key = [](const Record& record) {
        return std::tuple(!record.finding.diverges, record.finding.step.value_or(kSetup),
                          record.order_event, record.after_order_event, record.lane_order,
                          record.finding.rank);
      };
      return key(a) < key(b);
    });
    diverges_ = book_.diverges();
    beyond_tolerance_ = std::any_of(records.begin(), records.end(), beyond_tolerance);
    const std::uint64_t found = records.size() + book_.left_out();
    if (records.size() > options_.max_findings) records.resize(options_.max_findings);
    if (found > records.size())
      unseen_.push_back(
          fmt::format("{} are not listed", counted(found - records.size(), "further finding")));

    const bool same_set =
        totals_.data_values > 1 && totals_.data.reference == totals_.data.candidate;
    for (Record& record : records) {
      without_bytes_ += measure(record, runs_, judge_.tolerance());
      record.evidence.same_set_of_data =
          same_set && record.finding.kind == FindingKind::data && !record.evidence.uninitialised;
      if (record.more_in_step > 0)
        record.finding.notes.push_back(
            fmt::format("the same at {} in this step", counted(record.more_in_step, "more op")));
      if (!record.repeats.empty())
        record.finding.notes.push_back("again in " + steps_words(record.repeats));
      report.findings.push_back(record.finding);
    }
  }

  /// Of every origin that diverges, all its occurrences.
  void add_up_budgets() {
    BudgetSummary& sum = budget_.emplace();
    beyond_budget_ = book_.diverges(Source{.finding = kLeftOutFinding});
    const std::vector<Record>& records = book_.records();
    for (const Record& record : records) {
      if (!record.listed || !record.finding.diverges) continue;
      const Record& judged_record = record.copy_of ? records[*record.copy_of] : record;
      const BudgetSummary& one = judged_record.evidence.budget;
      const bool judged = one.inside + one.allowed + one.outside + one.without_bytes > 0;
      if (record.finding.kind != FindingKind::origin)
        beyond_budget_ = true;
      else if (!judged && one.without_model == 0)
        ++sum.without_model;
      budget::add(sum, one);
    }
  }

  [[nodiscard]] std::vector<std::string> unseen() const {
    std::vector<std::string> words = unseen_;
    for (const Side side : kSides) {
      const RunInfo& info = on(runs_, side)->info();
      if (!info.complete)
        words.push_back(
            fmt::format("the {}'s recording is incomplete{}", name(side),
                        info.incomplete_reason.empty() ? "" : ": " + info.incomplete_reason));
      for (const std::string& note : info.notes)
        words.push_back(fmt::format("the {}: {}", name(side), note));
      if (on(totals_.reads, side) > 0 && on(totals_.verified, side) == 0)
        words.push_back(fmt::format(
            "the {}'s inputs were not digested again where they were read (--verify off): a write "
            "outside of recorded ops would not be seen",
            name(side)));
    }
    if (totals_.given_up > 0)
      words.push_back(fmt::format("{} stand in stretches too different to be lined up",
                                  counted(totals_.given_up, "event")));
    if (budget_ && totals_.propagated.events > 0)
      words.push_back(
          fmt::format("the budget judges origins only, not the {} that follow from them",
                      counted(totals_.propagated.events, "event")));
    return words;
  }

  [[nodiscard]] Outlook outlook() const {
    Outlook outlook{.totals = totals_, .judge = judge_};
    outlook.diverges = diverges_;
    outlook.beyond_tolerance = beyond_tolerance_;
    outlook.complete = {runs_.reference->info().complete, runs_.candidate->info().complete};
    outlook.events = {runs_.reference->info().events, runs_.candidate->info().events};
    outlook.uncompared_steps = uncompared_steps_;
    outlook.lone_ranks = lone_ranks_;
    outlook.budget = budget_;
    outlook.beyond_budget = beyond_budget_;
    return outlook;
  }

  void diagnose(Report& report) {
    for (std::size_t k = 0; k < report.findings.size() && k < kDiagnosed; ++k) {
      const Finding& finding = report.findings[k];
      const bool rewrite =
          report.verdict == Verdict::identical &&
          (finding.kind == FindingKind::sequence || finding.kind == FindingKind::arguments);
      if (!finding.diverges && !rewrite) continue;
      if (k == 0) add_what_each_run_shows(book_.records()[k], runs_, options_.step_offset);
      for (Cause& cause : causes::diagnose(Case(book_.records()[k], k, report, totals_.evidence)))
        report.causes.push_back(std::move(cause));
      if (rewrite) break;
    }
  }

  Both<const Run*> runs_;
  const CompareOptions& options_;
  FindingBook book_;
  Totals totals_;
  ValueJudge judge_;
  std::vector<std::string> unseen_;
  std::uint64_t without_bytes_ = 0;
  std::uint64_t uncompared_steps_ = 0;
  std::uint64_t lone_ranks_ = 0;
  bool diverges_ = false;
  bool beyond_tolerance_ = false;
  std::optional<BudgetSummary> budget_;
  bool beyond_budget_ = false;
};

}  // namespace

Report compare(const Run& reference, const Run& candidate, const CompareOptions& options) {
  constexpr std::int64_t kLargestOffset = std::int64_t{1} << 60;
  if (options.step_offset > kLargestOffset || options.step_offset < -kLargestOffset)
    throw Error(ErrorCode::usage, "The step offset is out of range.");
  if (options.renames.empty()) return Comparison(reference, candidate, options).report();
  const RenamedRun renamed(candidate, options.renames);
  Report report = Comparison(reference, renamed, options).report();
  for (const ModuleRename* unused : renamed.unused())
    report.coverage.unseen.push_back(fmt::format("no module of the candidate fits {} -> {}",
                                                 unused->reference, unused->candidate));
  return report;
}

}  // namespace ulpscope
