#include "compare/rank_result.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "compare/budget/budget_judge.hpp"
#include "compare/rank_comparison.hpp"

namespace ulpscope::comparison {
namespace {

/// What no number can allow.
[[nodiscard]] bool beyond_tolerance(const Record& record) {
  const Both<std::uint32_t>& flags = record.evidence.event_flags;
  const bool one_threw = (flags.reference ^ flags.candidate) & event_flag::threw;
  return record.finding.diverges && (record.finding.kind == FindingKind::metadata || one_threw ||
                                     record.evidence.missing_steps);
}

/// An origin that rounding explains, where a budget was asked for.
[[nodiscard]] bool is_explained(const Record& record) {
  const BudgetSummary& budget = record.evidence.budget;
  return record.finding.kind == FindingKind::origin && budget.inside + budget.allowed > 0 &&
         budget.outside + budget.without_bytes + budget.without_model == 0;
}

/// Diverging findings first, among them those that rounding does not explain, each by step,
/// position, lane and rank.
[[nodiscard]] bool stands_before(const Record& a, const Record& b) {
  const auto key = [](const Record& record) {
    return std::tuple(!record.finding.diverges, is_explained(record),
                      record.finding.step.value_or(kSetup), record.course, record.order_event,
                      record.after_order_event, record.lane_order, record.finding.rank);
  };
  return key(a) < key(b);
}

/// Of every origin that diverges, all its occurrences.
void add_up_budgets(const FindingBook& book, RankResult& result) {
  result.beyond_budget = book.diverges(Source{.finding = kLeftOutFinding});
  const std::vector<Record>& records = book.records();
  for (const Record& record : records) {
    if (!record.listed || !record.finding.diverges || record.evidence.missing_steps) continue;
    const Record& judged_record = record.copy_of ? records[*record.copy_of] : record;
    const BudgetSummary& one = judged_record.evidence.budget;
    const bool judged = one.inside + one.allowed + one.outside + one.without_bytes > 0;
    if (record.finding.kind != FindingKind::origin)
      result.beyond_budget = true;
    else if (!judged && one.without_model == 0)
      ++result.budget.without_model;
    budget::add(result.budget, one);
  }
}

void take_findings(FindingBook& book, const CompareOptions& options, RankResult& result) {
  if (options.budget) add_up_budgets(book, result);
  std::vector<Record>& records = result.records;
  result.found = book.left_out();
  bool diverges = book.diverges(Source{.finding = kLeftOutFinding});
  for (Record& record : book.records()) {
    if (!record.listed) continue;
    if (record.evidence.missing_steps && record.finding.diverges) {
      result.missing_steps = std::move(record);
      continue;
    }
    diverges = diverges || record.finding.diverges;
    result.beyond_tolerance = result.beyond_tolerance || beyond_tolerance(record);
    records.push_back(std::move(record));
  }
  result.diverges = diverges;
  result.found += records.size();
  std::stable_sort(records.begin(), records.end(), stands_before);
  if (records.size() > options.max_findings) records.resize(options.max_findings);
}

void append(std::vector<std::string>& to, std::vector<std::string>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void RankResult::add(RankResult&& rank, const CompareOptions& options) {
  if (rank.missing_steps && !diverges) {
    rank.records.push_back(std::move(*rank.missing_steps));
    ++rank.found;
    rank.diverges = rank.beyond_tolerance = true;
    rank.beyond_budget = options.budget;
  }
  records.insert(records.end(), std::make_move_iterator(rank.records.begin()),
                 std::make_move_iterator(rank.records.end()));
  std::stable_sort(records.begin(), records.end(), stands_before);
  if (records.size() > options.max_findings) records.resize(options.max_findings);
  found += rank.found;
  diverges = diverges || rank.diverges;
  beyond_tolerance = beyond_tolerance || rank.beyond_tolerance;
  budget::add(budget, rank.budget);
  beyond_budget = beyond_budget || rank.beyond_budget;
  comparison::add(totals, rank.totals);
  values.add_rank(rank.values);
  uncompared_steps += rank.uncompared_steps;
  append(unseen, std::move(rank.unseen));
}

RankResult compare_rank(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                        const CompareOptions& options, ValueJudge& judge, bool with_common) {
  RankResult result;
  FindingBook book;
  RankComparison comparison(*runs.reference, *runs.candidate, ranks, options, book, result.totals,
                            judge);
  comparison.run();
  const auto& extra = comparison.extra_steps();
  result.uncompared_steps = comparison.skipped_steps() + extra.reference + extra.candidate;
  result.unseen = comparison.unseen();
  take_findings(book, options, result);
  result.values = judge.sums(with_common);
  return result;
}

}  // namespace ulpscope::comparison
