#include "cli/render/tolerance_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/term/escape.hpp"
#include "compare/report/summary.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string rule_text(const ToleranceRule& rule) {
  std::vector<std::string> parts;
  if (rule.op != "*" || !rule.module) parts.push_back(fmt::format("op {}", escaped(rule.op)));
  if (rule.module) parts.push_back(fmt::format("module {}", escaped(*rule.module)));
  if (rule.limits.any()) parts.push_back(comparison::limits_words(rule.limits));
  return fmt::format("{} ({})", escaped(rule.where), fmt::join(parts, ", "));
}

std::string use_text(const RuleUse& use) {
  if (use.expired)
    return fmt::format("{} expired after {} and was not applied", rule_text(use.rule),
                       date_text(*use.rule.expires));
  std::vector<std::string> parts;
  if (use.passed != 0)
    parts.push_back(fmt::format("let {} pass", core::counted(use.passed, "value")));
  if (use.failed != 0) parts.push_back(fmt::format("{} outside", core::grouped(use.failed)));
  std::string text = fmt::format("{}: {}", rule_text(use.rule), fmt::join(parts, ", "));
  if (!use.rule.reason.empty()) text += fmt::format(" ({})", escaped(use.rule.reason));
  return text;
}

}  // namespace

std::string date_text(const std::chrono::year_month_day& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string tolerance_text(const ToleranceResult& result, const Report& report) {
  std::string text = result.inside ? "inside" : "outside";
  if (result.rule) text += ", by " + escaped(report.rules.at(*result.rule).rule.where);
  return text;
}

std::string share_text(double used) {
  constexpr double kTimes = 10;
  return used < kTimes ? core::short_number(100 * used) + " %"
                       : core::short_number(used) + " times";
}

std::string budget_text(const Budget& budget) {
  const std::string side = budget.inside ? "inside" : "outside";
  if (budget.ulp == 0) return fmt::format("{}: {}", side, escaped(budget.why));
  const std::string ulp = core::short_number(budget.ulp);
  const std::string why = escaped(budget.why);
  if (!budget.used) return fmt::format("{} of {} ULP: {}", side, ulp, why);
  return fmt::format("{}, takes {}{} {} ULP: {}", side, share_text(*budget.used),
                     *budget.used < 10 ? " of" : "", ulp, why);
}

std::string own_text(const std::array<OwnBudget, 2>& own) {
  const auto one = [](const OwnBudget& run) {
    if (run.used) return share_text(*run.used);
    return std::string(run.inside ? "nothing" : "what no budget has");
  };
  return fmt::format("on its own inputs the reference takes {}, the candidate {}", one(own[0]),
                     one(own[1]));
}

std::string judged_text(const TensorReport& tensor, const Report& report) {
  std::string text;
  if (tensor.tolerance)
    text += fmt::format(", tolerance: {}", tolerance_text(*tensor.tolerance, report));
  if (tensor.difference && tensor.difference->budget)
    text += fmt::format(", budget: {}", budget_text(*tensor.difference->budget));
  return text;
}

void render_rules(const Report& report, Page& page) {
  std::uint64_t unused = 0;
  std::string_view label = "tolerance";
  for (const RuleUse& use : report.rules) {
    if (!use.expired && use.passed == 0 && use.failed == 0) {
      ++unused;
      continue;
    }
    page.labelled(label, use_text(use));
    label = "";
  }
  if (unused != 0)
    page.labelled(label, fmt::format("{} not needed", core::counted(unused, "rule")));
}

}  // namespace ulpscope::cli
