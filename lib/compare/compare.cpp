#include "ulpscope/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/align/main_share.hpp"
#include "compare/diff/contributions.hpp"
#include "compare/diff/created_ranks.hpp"
#include "compare/diff/program_lines.hpp"
#include "compare/diff/shared_tasks.hpp"
#include "compare/inside_modules.hpp"
#include "compare/measure/tensor_bytes.hpp"
#include "compare/model/backward_lane.hpp"
#include "compare/model/injected.hpp"
#include "compare/model/words.hpp"
#include "compare/prepared_runs.hpp"
#include "compare/report/causes/rules.hpp"
#include "compare/report/differences.hpp"
#include "compare/report/each_run.hpp"
#include "compare/report/environment.hpp"
#include "compare/report/meaning.hpp"
#include "compare/report/shared_memory.hpp"
#include "compare/report/summary.hpp"
#include "compare/report/verdict.hpp"
#include "compare/workforce.hpp"
#include "core/counts.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope {
namespace {

using namespace comparison;

[[nodiscard]] bool computes(const Run& run, std::uint32_t rank) {
  const std::vector<Lane> lanes = run.lanes(rank);
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.events > 0; });
}

/// Whether strings have other hashes in each process: CPython adds a salt to them that
/// PYTHONHASHSEED can fix.
[[nodiscard]] bool hashes_at_random(const Run& run) {
  bool salted = false;
  for (const std::uint32_t rank : run.ranks())
    for (const EnvironmentEntry& entry : run.environment(rank)) {
      salted = salted || (entry.key == "python.hash_randomization" && entry.value == "1");
      if (entry.key == "env.PYTHONHASHSEED" && entry.value != "random") return false;
    }
  return salted;
}

/// The containers of the program whose elements are the same in both runs, in another order: of a
/// setting `end.order.KIND.NAME`.
[[nodiscard]] std::vector<OtherOrder> other_orders(const Both<const Run*>& runs,
                                                   const std::vector<Both<std::uint32_t>>& pairs) {
  constexpr std::string_view kOrder = "end.order.";
  std::vector<OtherOrder> found;
  for (const auto& ranks : pairs) {
    std::map<std::string, std::string> reference;
    for (const EnvironmentEntry& entry : runs.reference->environment(ranks.reference))
      if (entry.key.starts_with(kOrder)) reference[entry.key] = entry.value;
    for (const EnvironmentEntry& entry : runs.candidate->environment(ranks.candidate)) {
      const auto other = reference.find(entry.key);
      if (other == reference.end() || other->second == entry.value ||
          !std::is_permutation(other->second.begin(), other->second.end(), entry.value.begin(),
                               entry.value.end()))
        continue;
      std::string name = entry.key.substr(kOrder.size());
      if (const auto dot = name.find('.'); dot != std::string::npos) name[dot] = ' ';
      found.push_back({std::move(name), {other->second, entry.value}});
    }
  }
  return found;
}

/// Values that are equal to each other: the distance between two of them need be taken once.
using Contents = std::tuple<std::uint32_t, std::uint32_t, Digest, Digest, Dtype>;
[[nodiscard]] Contents contents(const ValueQuestion& question) {
  return {question.ranks.reference, question.ranks.candidate, question.digests.reference,
          question.digests.candidate, question.geometries.reference.dtype};
}

class Comparison {
 public:
  Comparison(Workforce& workforce, const PreparedRuns& runs, const CompareOptions& options)
      : workforce_(workforce),
        runs_(runs.both()),
        rank_pairs_(runs.pairs()),
        task_ranks_(runs.task_ranks()),
        options_(options),
        tolerance_(options) {}

  [[nodiscard]] Report report() {
    Report report;
    report.reference = summary_of(*runs_.reference);
    report.candidate = summary_of(*runs_.candidate);
    report.rank_pairs = rank_pairs_;
    compare_ranks(report);
    if (options_.golden) report.golden = golden_conditions(report.environment);
    take_findings(report);
    const Totals& totals = result_.totals;
    report.coverage = totals.coverage;
    report.coverage.not_compared.no_bytes = without_bytes_;
    report.coverage.outcomes = totals.outcomes.compared;
    report.coverage.outcomes_recorded =
        totals.outcomes.known.reference && totals.outcomes.known.candidate;
    report.coverage.unseen = unseen();
    report.propagated = totals.propagated;
    if (report.propagated.events > 0) report.propagated.note = note_on_propagated();
    report.growth = result_.values.growth_points();
    report.path = result_.values.path;
    report.models = totals.evidence.models;
    report.rules = rules();
    if (tolerance_.any()) report.first_outside = result_.values.first_outside;
    if (options_.budget) add_budgets(report);
    const Decision decision = decide(outlook());
    report.verdict = decision.verdict;
    note_moved_updates();
    add_shared_memory(result_.records, runs_);
    add_meanings(report);
    diagnose(report);
    report.summary = summary(report, decision.reason);
    return report;
  }

 private:
  [[nodiscard]] static RunSummary summary_of(const Run& run) {
    const RunInfo& info = run.info();
    return {info.path,   info.command, info.complete, info.ranks, info.steps,
            info.events, info.values,  info.level,    {},         injected_at(run)};
  }

  void name_lone_ranks() {
    for (const Side side : kSides) {
      const std::set<std::uint32_t> without_partner = task_ranks_.without_partner(side);
      for (const std::uint32_t rank : on(runs_, side)->ranks()) {
        const bool has_partner =
            std::any_of(rank_pairs_.begin(), rank_pairs_.end(),
                        [&](const RankPair& pair) { return on(pair.numbers, side) == rank; });
        if (!has_partner && !without_partner.contains(rank) && computes(*on(runs_, side), rank))
          lone_.push_back(fmt::format("only the {} has rank {}", name(side), rank));
      }
    }
  }

  /// Processes that a rank has created: workers that load data.
  [[nodiscard]] Both<std::set<std::uint32_t>> created_ranks() const {
    Both<std::set<std::uint32_t>> created;
    for (const Side side : kSides)
      for (const std::uint32_t rank : on(runs_, side)->ranks()) {
        const RankIdentity identity = on(runs_, side)->identity(rank);
        if (identity.creator && identity.declared.empty() && computes(*on(runs_, side), rank))
          on(created, side).insert(rank);
      }
    return created;
  }

  void compare_ranks(Report& report) {
    std::map<std::string, EnvironmentDifference> environment;
    name_lone_ranks();
    const auto pairs = numbers_of(rank_pairs_);
    workforce_.compare_ranks(pairs,
                             [this](RankResult&& rank) { result_.add(std::move(rank), options_); });
    unequal_tasks_ = compare_shared_tasks(runs_, task_ranks_, result_.totals);
    result_.totals.evidence.created = created_ranks();
    result_.totals.evidence.random_hashes =
        hashes_at_random(*runs_.reference) && hashes_at_random(*runs_.candidate);
    result_.totals.evidence.other_orders = other_orders(runs_, pairs);
    note_contributions(result_.records, runs_, pairs);
    result_.found -= place_created_ranks(result_.records, runs_);
    put_in_order(result_.records, options_);
    result_.found -= merge_processes(result_.records, [&](std::uint32_t rank) -> std::uint64_t {
      const RankIdentity process = runs_.reference->identity(rank);
      return process.creator && process.declared.empty() ? *process.creator + 1 : 0;
    });
    const auto& late = result_.totals.evidence.late_begin;
    for (const auto& ranks : pairs) {
      const auto found = late.find(ranks.reference);
      for (auto& difference : environment_differences(
               runs_.reference->environment(ranks.reference),
               runs_.candidate->environment(ranks.candidate), options_.step_offset,
               found == late.end() ? Both<bool>{} : found->second.runs))
        environment.try_emplace(difference.key, difference);
    }
    for (auto& entry : environment) report.environment.push_back(std::move(entry.second));
    if (auto codes = exit_codes()) report.environment.push_back(std::move(*codes));
    std::stable_sort(report.environment.begin(), report.environment.end(),
                     [](const EnvironmentDifference& a, const EnvironmentDifference& b) {
                       return a.can_change_bits > b.can_change_bits;
                     });
  }

  void take_findings(Report& report) {
    std::vector<Record>& records = result_.records;
    if (result_.found > records.size())
      result_.unseen.push_back(fmt::format(
          "{} are not listed", core::counted(result_.found - records.size(), "further finding")));

    measure();
    if (result_.values.first_outside) put_tolerated_last(records, *result_.values.first_outside);
    const Totals& totals = result_.totals;
    const bool same_set = totals.data_values > 1 && totals.data.reference == totals.data.candidate;
    for (Record& record : records) {
      record.evidence.same_set_of_data =
          same_set && record.finding.kind == FindingKind::data &&
          (!record.evidence.uninitialised || record.evidence.for_data);
      if (record.more_in_step > 0)
        record.finding.notes.push_back(fmt::format("the same at {} in this step",
                                                   core::counted(record.more_in_step, "more op")));
      if (!record.repeats.empty())
        record.finding.notes.push_back("again in " + steps_words(record.repeats));
      if (!record.more_ranks.empty())
        record.finding.notes.push_back(fmt::format(
            "the same in {}: {} {}",
            core::counted(record.more_ranks.size(), "more process", "more processes"),
            record.more_ranks.size() == 1 ? "rank" : "ranks", fmt::join(record.more_ranks, ", ")));
      report.findings.push_back(record.finding);
      if (!record.finding.event.reference && record.finding.event.candidate)
        report.findings.back().step = reported_step(record.candidate_step);
    }
  }

  /// Has the tensors of all findings and of the path looked into.
  void measure() {
    std::vector<ValueQuestion> questions;
    std::vector<std::size_t> asked;
    for (const Record& record : result_.records) {
      auto some = questions_about(record, tolerance_);
      asked.push_back(some.size());
      std::move(some.begin(), some.end(), std::back_inserter(questions));
    }
    std::map<Contents, std::size_t> by_contents;
    for (std::size_t k = 0; k < questions.size(); ++k)
      if (questions[k].evidence) by_contents.try_emplace(contents(questions[k]), k);
    std::vector<std::size_t> on_the_path;
    for (const ValueQuestion& question : result_.values.path_questions) {
      const auto [at, added] = by_contents.try_emplace(contents(question), questions.size());
      if (added) questions.push_back(question);
      on_the_path.push_back(at->second);
    }
    if (options_.before_values) {
      std::uint64_t bytes = 0;
      for (const ValueQuestion& question : questions)
        if (holds_bytes(runs_, question.ranks, question.digests, question.geometries))
          bytes += 2 * packed_bytes(question.geometries.reference);
      options_.before_values(bytes);
    }
    const std::vector<ValueAnswer> answers = workforce_.study(questions);
    std::span<const ValueAnswer> rest(answers);
    for (std::size_t k = 0; k < result_.records.size(); ++k) {
      without_bytes_ += enter_answers(result_.records[k], tolerance_, rest.first(asked[k]));
      rest = rest.subspan(asked[k]);
    }
    for (std::size_t k = 0; k < on_the_path.size(); ++k) {
      const auto& apart = answers[on_the_path[k]].difference;
      if (!apart) continue;
      result_.values.path.points[k].scaled_max = apart->scaled_max;
      result_.values.path.points[k].ulp_max = apart->ulp_max;
    }
  }

  [[nodiscard]] std::string note_on_propagated() const {
    if (!injected_at(*runs_.candidate).empty())
      return "what they read differs and was not given: an origin among these cannot be separated "
             "from what they inherited";
    if (options_.replayer == nullptr || !options_.budget)
      return "an origin among these cannot be separated from what they inherited; ulpscope check "
             "--all-origins, or record --inject, gives them the reference's inputs";
    const ReplaySummary& replay = result_.totals.replay;
    return fmt::format(
        "their ops were replayed in float64 on each run's own inputs: {} inside of their "
        "error budgets, {} outside, {} not judged",
        replay.inside, replay.outside, replay.unjudged);
  }

  void add_budgets(Report& report) const {
    report.budget = result_.budget;
    report.op_budgets = result_.totals.op_budgets;
    std::stable_sort(report.op_budgets.begin(), report.op_budgets.end(),
                     [](const OpBudget& a, const OpBudget& b) {
                       if ((a.outside > 0) != (b.outside > 0)) return a.outside > 0;
                       return a.largest_used.value_or(0) > b.largest_used.value_or(0);
                     });
    if (options_.replayer != nullptr) report.replay = result_.totals.replay;
  }

  [[nodiscard]] std::vector<RuleUse> rules() const {
    std::vector<RuleUse> rules = tolerance_.rules();
    const auto& counts = result_.values.rules;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      rules[k].passed = counts[k].passed;
      rules[k].failed = counts[k].failed;
    }
    return rules;
  }

  [[nodiscard]] std::vector<std::string> unseen() const {
    std::vector<std::string> words = lone_;
    words.insert(words.end(), result_.unseen.begin(), result_.unseen.end());
    const Totals& totals = result_.totals;
    for (const Side side : kSides) {
      const RunInfo& info = on(runs_, side)->info();
      if (!info.complete)
        words.push_back(
            fmt::format("the {}'s recording is incomplete{}", name(side),
                        info.incomplete_reason.empty() ? "" : ": " + info.incomplete_reason));
      for (const std::string& note : info.notes)
        words.push_back(fmt::format("the {}: {}", name(side), note));
      if (on(totals.reads, side) > 0 && on(totals.verified, side) == 0)
        words.push_back(fmt::format(
            "the {}'s inputs were not digested again where they were read (--verify off): a write "
            "outside of recorded ops would not be seen",
            name(side)));
    }
    if (const auto& loaders = task_ranks_.loaders;
        !loaders.reference.empty() || !loaders.candidate.empty())
      words.push_back(fmt::format(
          "of {} and {} worker processes that load data, what the program does not read from them",
          loaders.reference.size(), loaders.candidate.size()));
    if (totals.given_up > 0)
      words.push_back(fmt::format("{} stand in stretches too different to be aligned",
                                  core::counted(totals.given_up, "event")));
    if (options_.budget && options_.replayer == nullptr && totals.propagated.events > 0)
      words.push_back(
          fmt::format("the budget judges origins only, not the {} that follow from them",
                      core::counted(totals.propagated.events, "event")));
    return words;
  }

  /// What one recording alone selects or leaves out, in words; empty where both do the same.
  [[nodiscard]] std::string other_selection() const {
    for (const auto& ranks : numbers_of(rank_pairs_))
      for (const Side side : kSides)
        if (const std::string alone = selected_alone(
                selection_of(*on(runs_, side), on(ranks, side)),
                selection_of(*on(runs_, the_other(side)), on(ranks, the_other(side))));
            !alone.empty())
          return fmt::format("the {} was recorded with {}", name(side), alone);
    return {};
  }

  [[nodiscard]] std::optional<EnvironmentDifference> exit_codes() const {
    return exit_code_difference(runs_.reference->info(), runs_.candidate->info());
  }

  /// Where one run is allowed to go on after the other's end, it may also end differently.
  [[nodiscard]] std::string other_end() const {
    const auto codes = exit_codes();
    const bool one_goes_on = result_.longer.reference > 0 || result_.longer.candidate > 0;
    if (!codes || one_goes_on || options_.any_exit_code) return {};
    return fmt::format("the reference ended with exit code {} and the candidate with exit code {}",
                       *codes->reference, *codes->candidate);
  }

  /// How the run that ends before the other one has failed, in words; empty if it has not.
  [[nodiscard]] std::string failure_of_shorter() const {
    const auto codes = exit_codes();
    if (!codes || options_.any_exit_code) return {};
    for (const Side side : kSides)
      if (on(result_.longer, the_other(side)) > 0)
        if (const std::string& code =
                side == Side::reference ? *codes->reference : *codes->candidate;
            code != "0")
          return fmt::format("the {} has ended with exit code {}", name(side), code);
    return {};
  }

  [[nodiscard]] Outlook outlook() const {
    Outlook outlook{.totals = result_.totals, .values = result_.values};
    outlook.tolerates = tolerance_.any();
    outlook.diverges = result_.diverges;
    outlook.beyond_tolerance = result_.beyond_tolerance;
    outlook.complete = {runs_.reference->info().complete, runs_.candidate->info().complete};
    outlook.events = {runs_.reference->info().events, runs_.candidate->info().events};
    outlook.uncompared_steps = result_.uncompared_steps;
    outlook.longer = result_.longer;
    outlook.allow_longer = options_.allow_longer;
    outlook.common_steps = std::min(runs_.reference->info().steps, runs_.candidate->info().steps);
    outlook.lone_ranks = lone_.size();
    outlook.unequal_tasks = unequal_tasks_;
    outlook.shorter_end = failure_of_shorter();
    outlook.ends = other_end();
    outlook.selects = other_selection();
    outlook.no_replayer = options_.no_replayer;
    for (const Side side : kSides)
      if (!injected_at(*on(runs_, side)).empty()) outlook.injected = side;
    if (options_.budget) outlook.budget = result_.budget;
    outlook.beyond_budget = result_.beyond_budget;
    return outlook;
  }

  /// Updates that both runs make in a step, each at a place where the other one does not.
  void note_moved_updates() {
    using Names = std::set<std::string_view>;
    std::map<std::pair<std::uint32_t, std::optional<std::int64_t>>, Both<Names>> updated;
    const auto of_step = [&](const Record& record) -> Both<Names>& {
      return updated[{record.finding.rank, record.finding.step}];
    };
    for (const Record& record : result_.records)
      for (const Side side : kSides) {
        const auto& names = on(record.evidence.alone_updates, side);
        on(of_step(record), side).insert(names.begin(), names.end());
      }
    for (Record& record : result_.records)
      for (const Side side : kSides) {
        const auto& names = on(record.evidence.alone_updates, side);
        const Names& others = on(of_step(record), the_other(side));
        record.evidence.moved = record.evidence.moved || std::any_of(names.begin(), names.end(),
                                                                     [&](const std::string& name) {
                                                                       return others.contains(name);
                                                                     });
      }
  }

  void add_meanings(Report& report) {
    for (std::size_t k = 0; k < report.findings.size(); ++k)
      report.findings[k].meaning =
          meaning(Case(result_.records[k], k, report, result_.totals.evidence));
  }

  void diagnose(Report& report) {
    for (std::size_t k = 0; k < report.findings.size(); ++k) {
      const Finding& finding = report.findings[k];
      const bool rewrite =
          report.verdict == Verdict::identical &&
          (finding.kind == FindingKind::sequence || finding.kind == FindingKind::arguments);
      if (!finding.diverges && !rewrite && !finding.goes_on) continue;
      if (k == 0 || finding.goes_on)
        add_what_each_run_shows(result_.records[k], runs_, options_.step_offset);
      for (Cause& cause :
           causes::diagnose(Case(result_.records[k], k, report, result_.totals.evidence)))
        report.causes.push_back(std::move(cause));
      if (rewrite) break;
    }
  }

  Workforce& workforce_;
  Both<const Run*> runs_;
  const std::vector<RankPair>& rank_pairs_;
  const TaskRanks& task_ranks_;
  const CompareOptions& options_;
  Tolerance tolerance_;
  RankResult result_;
  std::vector<std::string> lone_;  ///< ranks that only one run has, in words
  UnequalTasks unequal_tasks_;
  std::uint64_t without_bytes_ = 0;
};

}  // namespace

namespace comparison {

PreparedRuns::PreparedRuns(const Run& reference, const Run& candidate,
                           const CompareOptions& options)
    : runs_{&reference, &candidate},
      task_ranks_(comparison::task_ranks(runs_)),
      pairs_(rank_pairs(runs_, {task_ranks_.without_partner(Side::reference),
                                task_ranks_.without_partner(Side::candidate)})) {
  constexpr std::int64_t kLargestOffset = std::int64_t{1} << 60;
  if (options.step_offset > kLargestOffset || options.step_offset < -kLargestOffset)
    throw Error(ErrorCode::usage, "The step offset is out of range.");
  separate_backward();
  if (!options.by_layers) separate_shared_work();
  if (RootNames roots = pair_roots(runs_, numbers_of(pairs_)); !roots.empty()) {
    rooted_.emplace(*runs_.candidate, std::move(roots));
    runs_.candidate = &*rooted_;
  }
  if (!options.renames.empty()) {
    renamed_.emplace(*runs_.candidate, options.renames);
    runs_.candidate = &*renamed_;
  }
  auto selections = selections_of_partners(runs_, numbers_of(pairs_));
  for (const Side side : kSides)
    if (!on(selections, side).empty())
      on(runs_, side) =
          &on(selected_, side).emplace(*on(runs_, side), std::move(on(selections, side)));
}

void PreparedRuns::separate_backward() {
  const auto inside = ranks_with_backward_inside(runs_, numbers_of(pairs_));
  for (const Side side : kSides) {
    const auto& ranks = on(inside, side);
    if (ranks.empty()) continue;
    const Run& run = *on(runs_, side);
    on(runs_, side) =
        &on(apart_, side)
             .emplace(run, [&run, ranks](std::uint32_t rank) -> std::optional<LanePart> {
               if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) return std::nullopt;
               return backward_of_main(run, rank);
             });
  }
}

void PreparedRuns::separate_shared_work() {
  Both<std::map<std::uint32_t, LanePart>> parts;
  for (const RankPair& pair : pairs_) {
    auto shares = shares_of_main(runs_, pair.numbers);
    for (const Side side : kSides)
      if (auto& share = on(shares, side))
        on(parts, side).emplace(on(pair.numbers, side), std::move(*share));
  }
  for (const Side side : kSides)
    if (!on(parts, side).empty())
      on(runs_, side) =
          &on(shared_, side)
               .emplace(*on(runs_, side),
                        [known = on(parts, side)](std::uint32_t rank) -> std::optional<LanePart> {
                          const auto part = known.find(rank);
                          if (part == known.end()) return std::nullopt;
                          return part->second;
                        });
}

std::vector<Both<std::uint32_t>> numbers_of(const std::vector<RankPair>& pairs) {
  std::vector<Both<std::uint32_t>> numbers;
  for (const RankPair& pair : pairs) numbers.push_back(pair.numbers);
  return numbers;
}

Report compare_by(Workforce& workforce, PreparedRuns& runs, const CompareOptions& options) {
  Report report = Comparison(workforce, runs, options).report();
  if (runs.renamed() == nullptr) return report;
  for (const ModuleRename* unused : runs.renamed()->unused())
    report.coverage.unseen.push_back(fmt::format("no module of the candidate fits {} -> {}",
                                                 unused->reference, unused->candidate));
  return report;
}

}  // namespace comparison

Report compare(const Run& reference, const Run& candidate, const CompareOptions& options) {
  PreparedRuns runs(reference, candidate, options);
  OneProcess workforce(runs.both(), options);
  Report report = compare_by(workforce, runs, options);
  if (options.by_layers) look_inside_modules(report, reference, candidate, options);
  return report;
}

}  // namespace ulpscope
