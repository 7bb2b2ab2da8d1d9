#include "compare/diff/rank_result.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "compare/diff/batches.hpp"
#include "compare/diff/program_lines.hpp"
#include "compare/diff/rank_comparison.hpp"
#include "compare/measure/budget/budget_judge.hpp"
#include "compare/model/words.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

/// What no number can allow.
[[nodiscard]] bool beyond_tolerance(const Record& record) {
  const Both<std::uint32_t>& flags = record.evidence.event_flags;
  const bool one_threw = (flags.reference ^ flags.candidate) & event_flag::threw;
  return record.finding.diverges && (record.finding.kind == FindingKind::metadata || one_threw);
}

enum class Explained : std::uint8_t { no, unknown, by_rounding };

/// Whether rounding explains an origin, if a budget was requested.
[[nodiscard]] Explained explained(const Record& record, bool budget) {
  if (!budget || record.finding.kind != FindingKind::origin) return Explained::no;
  const BudgetSummary& summary = record.evidence.budget;
  if (summary.outside > 0) return Explained::no;
  return summary.inside + summary.allowed > 0 && summary.without_bytes + summary.without_model == 0
             ? Explained::by_rounding
             : Explained::unknown;
}

/// Of every origin that diverges, all its occurrences.
void add_up_budgets(FindingBook& book, RankResult& result) {
  result.beyond_budget = book.diverges(Source{.finding = kLeftOutFinding});
  std::vector<Record>& records = book.records();
  for (Record& record : records) {
    if (!record.listed || !record.finding.diverges) continue;
    if (record.copy_of) record.evidence.budget = records[*record.copy_of].evidence.budget;
    const BudgetSummary& one = record.evidence.budget;
    const bool judged = one.inside + one.allowed + one.outside + one.without_bytes > 0;
    if (record.finding.kind != FindingKind::origin)
      result.beyond_budget = true;
    else if (!judged && one.without_model == 0)
      ++result.budget.without_model;
    budget::add(result.budget, one);
  }
}

[[nodiscard]] bool same_seed(const Record& record) {
  return record.evidence.rng.reference.seed == record.evidence.rng.candidate.seed;
}

/// A stream that differs after a draw that one run alone makes is part of that finding, if it
/// diverges.
void join_shifted_streams(std::vector<Record>& records) {
  for (Record& stream : records) {
    const auto& drawn = stream.evidence.drawn_alone;
    if (!stream.listed || stream.finding.kind != FindingKind::rng || !drawn || !same_seed(stream))
      continue;
    for (std::size_t k = 0; k < records.size(); ++k) {
      Record& alone = records[k];
      if (!alone.listed || !alone.finding.diverges || (k != *drawn && alone.copy_of != drawn))
        continue;
      alone.evidence.draws = stream.evidence.draws;
      if (!alone.effect || !alone.effect->drawn)
        alone.finding.notes.push_back("it draws: " + stream.finding.op +
                                      " and what follows draw from a different RNG state");
      stream.listed = false;
    }
  }
}

/// Only a module that trains counts batches: nothing else is what only one run does.
[[nodiscard]] bool only_counts_batches(const Record& record) {
  if (record.finding.kind != FindingKind::sequence) return false;
  std::size_t counts = 0;
  for (const Side side : kSides) {
    for (const std::string& op : on(record.evidence.alone, side))
      if (op != "aten::add_") return false;
    for (const std::string& name : on(record.evidence.alone_names, side))
      if (!core::glob_match("*num_batches_tracked", name)) return false;
    counts += on(record.evidence.alone_names, side).size();
  }
  return counts > 0;
}

[[nodiscard]] bool is_of_mode(const Record& record) {
  const auto& arguments = record.finding.arguments;
  return record.finding.kind == FindingKind::arguments && record.finding.diverges &&
         !arguments.empty() &&
         std::all_of(arguments.begin(), arguments.end(),
                     [](const ArgumentReport& argument) { return is_mode(argument.name); });
}

/// train() or eval() that one run has called is one finding: that batches are counted follows.
void join_modes(std::vector<Record>& records) {
  const auto mode = std::find_if(records.begin(), records.end(), [](const Record& record) {
    return record.listed && is_of_mode(record);
  });
  if (mode == records.end()) return;
  for (Record& record : records)
    if (only_counts_batches(record) && record.finding.root == mode->finding.root &&
        order_step(record) >= order_step(*mode))
      record.listed = false;
}

void take_findings(FindingBook& book, const CompareOptions& options, RankResult& result) {
  join_shifted_streams(book.records());
  join_modes(book.records());
  if (options.budget) add_up_budgets(book, result);
  std::vector<Record>& records = result.records;
  result.found = book.left_out();
  bool diverges = book.diverges(Source{.finding = kLeftOutFinding});
  for (Record& record : book.records()) {
    if (!record.listed) continue;
    if (record.evidence.missing_steps) {
      result.missing_steps = std::move(record);
      continue;
    }
    diverges = diverges || record.finding.diverges;
    result.beyond_tolerance = result.beyond_tolerance || beyond_tolerance(record);
    records.push_back(std::move(record));
  }
  result.diverges = diverges;
  put_in_order(records, options);
  merge_by_line(records);
  merge_by_batch(records);
  result.found += records.size();
  if (records.size() > options.max_findings) records.resize(options.max_findings);
}

void append(std::vector<std::string>& to, std::vector<std::string>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void put_in_order(std::vector<Record>& records, const CompareOptions& options) {
  const auto key = [&](const Record& record) {
    return std::tuple(!record.finding.diverges, explained(record, options.budget),
                      order_step(record), record.evidence.contributor.has_value(),
                      record.after_forward.value_or(record.order_event),
                      record.after_forward.has_value(), record.order_event,
                      record.after_order_event, record.lane_order, record.finding.rank);
  };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record& a, const Record& b) { return key(a) < key(b); });
}

void RankResult::add(RankResult&& rank, const CompareOptions& options) {
  if (rank.missing_steps && !diverges) {
    rank.records.push_back(std::move(*rank.missing_steps));
    ++rank.found;
  }
  records.insert(records.end(), std::make_move_iterator(rank.records.begin()),
                 std::make_move_iterator(rank.records.end()));
  put_in_order(records, options);
  if (records.size() > options.max_findings) records.resize(options.max_findings);
  found += rank.found;
  diverges = diverges || rank.diverges;
  beyond_tolerance = beyond_tolerance || rank.beyond_tolerance;
  budget::add(budget, rank.budget);
  beyond_budget = beyond_budget || rank.beyond_budget;
  comparison::add(totals, rank.totals);
  values.add_rank(rank.values);
  uncompared_steps += rank.uncompared_steps;
  for (const Side side : kSides)
    on(longer, side) = std::max(on(longer, side), on(rank.longer, side));
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
  result.uncompared_steps = comparison.skipped_steps();
  if (comparison.is_longer())
    result.longer = extra;
  else
    result.uncompared_steps += extra.reference + extra.candidate;
  result.unseen = comparison.unseen();
  take_findings(book, options, result);
  result.values = judge.sums(with_common);
  return result;
}

}  // namespace ulpscope::comparison
