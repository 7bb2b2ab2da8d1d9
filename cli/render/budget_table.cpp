#include "cli/render/budget_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/render/tolerance_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/term/width.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostOps = 8;
constexpr std::size_t kMostReasons = 4;

std::string used(const OpBudget& op) {
  if (!op.largest_used) return op.outside > 0 ? "no share" : "0 %";
  return share_text(*op.largest_used);
}

Table table_of(const std::vector<OpBudget>& ops) {
  const auto cell = [](std::string text) { return Cell{std::move(text), Ink::plain, true}; };
  const auto heading = [](std::string text) { return Cell{std::move(text), Ink::dim, true}; };
  Table table;
  table.row({{"op", Ink::dim},
             heading("results"),
             heading("outside"),
             heading("takes"),
             {"of what may move", Ink::dim}});
  for (std::size_t i = 0; i < std::min(ops.size(), kMostOps); ++i) {
    const OpBudget& op = ops[i];
    table.row({{escaped(op.op)},
               cell(core::grouped(op.results)),
               {core::grouped(op.outside), op.outside > 0 ? Ink::red : Ink::plain, true},
               cell(used(op)),
               {escaped(op.why)}});
  }
  return table;
}

void print_reasons(const ReplaySummary& replay, Page& page) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons = replay.reasons;
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string_view label = "unjudged";
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i, label = "")
    page.labelled(label, fmt::format("{}: {}", core::counted(reasons[i].second, "op"),
                                     escaped(reasons[i].first)));
  if (reasons.size() > kMostReasons)
    page.labelled("", fmt::format("and for {}: see --format json",
                                  core::counted(reasons.size() - kMostReasons, "other reason")));
}

}  // namespace

void render_op_budgets(const Report& report, Page& page) {
  if (report.op_budgets.empty()) return;
  Table table = table_of(report.op_budgets);
  const std::size_t room = page.terminal().width - kLabelWidth;
  for (const std::size_t column : {4U, 0U}) table.fit(column, room, 10, page.terminal());
  page.line();
  std::string_view label = "budget";
  for (const std::string& line : table.lines(page.terminal())) {
    page.line(page.paint(Ink::dim, padded(label, kLabelWidth)) + line);
    label = "";
  }
  if (report.op_budgets.size() > kMostOps)
    page.labelled("", fmt::format("and {}: see --format json",
                                  core::counted(report.op_budgets.size() - kMostOps, "other op")));
  if (report.replay) print_reasons(*report.replay, page);
}

}  // namespace ulpscope::cli
