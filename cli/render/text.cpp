#include "cli/render/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/render/budget_table.hpp"
#include "cli/render/finding_text.hpp"
#include "cli/render/growth_text.hpp"
#include "cli/render/page.hpp"
#include "cli/render/tolerance_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "compare/report/environment.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostFurtherFindings = 10;
constexpr std::size_t kLongestSetting = 28;

std::string command_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_quoted(word));
  return escaped(fmt::format("{}", fmt::join(words, " ")));
}

std::string facts(const RunSummary& run, bool several_ranks) {
  std::vector<std::string> parts{core::counted(run.steps, "step"),
                                 core::counted(run.events, "event"),
                                 core::counted(run.values, "value")};
  if (several_ranks) parts.insert(parts.begin(), core::counted(run.ranks, "rank"));
  if (!run.level.empty()) parts.push_back(fmt::format("level {}", escaped(run.level)));
  if (!run.complete) parts.emplace_back("incomplete");
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_runs(const Report& report, Page& page) {
  const bool several_ranks = std::max(report.reference.ranks, report.candidate.ranks) > 1;
  const bool same_command = report.candidate.command == report.reference.command;
  for (const RunSummary* run : {&report.reference, &report.candidate}) {
    const bool is_reference = run == &report.reference;
    page.labelled(is_reference ? "reference" : "candidate", escaped(run->path), Ink::bold);
    page.labelled("", facts(*run, several_ranks));
    if (run->command.empty()) continue;
    page.labelled("",
                  !is_reference && same_command ? "the same command" : command_line(run->command));
  }
}

void print_ranks(const Report& report, Page& page) {
  const std::string matches = rank_matches(report);
  if (!matches.empty()) page.labelled("ranks", matches);
}

std::string not_compared(const NotCompared& counts) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, std::string_view what) {
    if (count != 0) parts.push_back(fmt::format("{} {}", core::grouped(count), what));
  };
  add(counts.uninitialised, "uninitialized");
  add(counts.handle, counts.handle == 1 ? "handle" : "handles");
  add(counts.layout, "in a different layout");
  add(counts.no_bytes, "without bytes");
  add(counts.ignored, "ignored");
  add(counts.opaque, "opaque");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What keeps "every bit" from being said, in words; empty if everything was compared.
std::string aside(const Coverage& coverage) {
  std::vector<std::string> parts;
  if (const std::string left_out = not_compared(coverage.not_compared); !left_out.empty())
    parts.push_back("not compared: " + left_out);
  const std::uint64_t alone = coverage.only_reference + coverage.only_candidate;
  if (alone != 0) parts.push_back(fmt::format("{} in one run only", core::counted(alone, "event")));
  if (!coverage.outcomes_recorded)
    parts.emplace_back("what the runs left when they ended was not recorded");
  return fmt::format("{}", fmt::join(parts, "; "));
}

void print_coverage(const Coverage& coverage, Page& page) {
  std::vector<std::string> parts{core::counted(coverage.aligned, "event")};
  if (coverage.only_reference != 0) {
    parts.push_back(
        fmt::format("{} only in the reference", core::grouped(coverage.only_reference)));
  }
  if (coverage.only_candidate != 0) {
    parts.push_back(
        fmt::format("{} only in the candidate", core::grouped(coverage.only_candidate)));
  }
  page.labelled("aligned", fmt::format("{}", fmt::join(parts, ", ")));
  const std::string left_out = not_compared(coverage.not_compared);
  if (!left_out.empty()) page.labelled("left out", left_out);
  for (const std::string& unseen : coverage.unseen) page.labelled("unseen", escaped(unseen));
}

std::string setting(const std::optional<std::string>& value) {
  return value ? escaped(*value) : "(unset)";
}

/// Printed before everything else: it says how to read what follows.
void print_golden(const Report& report, bool alone, Page& page) {
  if (!report.golden) return;
  const std::vector<EnvironmentDifference>& differ = report.golden->differ;
  if (differ.empty()) {
    if (!alone)
      page.labelled("golden", "recorded with the same instruction set, threads and libraries");
    return;
  }
  page.labelled("golden",
                "recorded under other conditions than the candidate, so that bits may differ "
                "without a fault of the program:",
                Ink::yellow);
  for (const EnvironmentDifference& difference : differ)
    page.labelled(
        "", fmt::format("{} is {} and {}", escaped(difference.key),
                        elided(setting(difference.reference), kLongestSetting, page.terminal()),
                        elided(setting(difference.candidate), kLongestSetting, page.terminal())));
  page.labelled("",
                "record a golden run under these; at level full --budget or a tolerance "
                "can tell rounding from faults");
}

void print_settings(const Report& report, Page& page) {
  const Terminal& terminal = page.terminal();
  Table table;
  table.row(
      {{"differ and can change bits", Ink::dim}, {"reference", Ink::dim}, {"candidate", Ink::dim}});
  std::uint64_t harmless = 0;
  bool any = false;
  for (const EnvironmentDifference& difference : report.environment) {
    if (!difference.can_change_bits) {
      ++harmless;
      continue;
    }
    any = true;
    const std::string when = comparison::when_words(difference);
    table.row({{escaped(difference.key) + (when.empty() ? "" : " " + when)},
               {elided(setting(difference.reference), kLongestSetting, terminal), Ink::yellow},
               {elided(setting(difference.candidate), kLongestSetting, terminal), Ink::yellow}});
  }
  std::string_view label = "settings";
  if (any) {
    const std::size_t room = terminal.width - kLabelWidth;
    for (const std::size_t column : {2U, 1U, 0U}) table.fit(column, room, 10, terminal);
    for (const std::string& line : table.lines(terminal)) {
      page.line(page.paint(Ink::dim, padded(label, kLabelWidth)) + line);
      label = "";
    }
  }
  if (harmless != 0) {
    page.labelled(label,
                  fmt::format("{} {}that cannot (ulpscope env {} {})", core::grouped(harmless),
                              any ? "more " : "", escaped(shell_quoted(report.reference.path)),
                              escaped(shell_quoted(report.candidate.path))));
  }
}

void print_propagated(const Propagated& propagated, Page& page) {
  if (propagated.note.empty()) return;
  page.labelled("propagated", fmt::format("{}: {}", core::counted(propagated.events, "event"),
                                          escaped(propagated.note)));
  page.line();
}

std::string step_ranges(const Propagated& propagated) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : propagated.steps) {
    parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{} - {}", first, last));
    if (parts.size() == 4) break;
  }
  if (propagated.steps.size() > parts.size()) parts.emplace_back("...");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The summary without the verdict that it begins with.
std::string_view after_verdict(const Report& report) {
  const std::string_view summary = report.summary;
  const std::size_t colon = summary.find(": ");
  if (!summary.starts_with(name(report.verdict)) || colon == summary.npos) return summary;
  return summary.substr(colon + 2);
}

/// Steps are counted from 0; those of a selection need not be.
std::string step_of(std::int64_t step, std::uint64_t steps) {
  if (static_cast<std::uint64_t>(step) >= steps) return fmt::format("at step {}", step);
  return fmt::format("at step {} of {}", step, core::grouped(steps));
}

void print_verdict(const Report& report, Page& page) {
  const auto print = [&page](Ink ink, std::string_view verdict, std::string_view text) {
    std::string head = page.paint(ink, verdict);
    for (const std::string& part :
         wrapped(text, page.terminal().width - display_width(verdict) - 1)) {
      page.line(head + " " + part);
      head.assign(display_width(verdict), ' ');
    }
  };
  const std::string summary = escaped(after_verdict(report));
  switch (report.verdict) {
    case Verdict::identical: {
      const std::string apart = aside(report.coverage);
      std::string text = fmt::format("{}, {}, {}", core::counted(report.coverage.aligned, "event"),
                                     core::counted(report.reference.steps, "step"),
                                     apart.empty() ? "every bit" : "every value that was compared");
      if (!apart.empty()) text += fmt::format(" ({})", apart);
      print(Ink::green, "IDENTICAL:", text);
      break;
    }
    case Verdict::within:
      print(Ink::green, "WITHIN",
            fmt::format("the {}: {}", report.budget ? "budget" : "tolerance", summary));
      break;
    case Verdict::diverged: {
      const Finding* first = report.first();
      std::string text = first != nullptr && first->step.has_value()
                             ? fmt::format("{}: {}", step_of(*first->step, report.reference.steps),
                                           findings_in_words(report))
                             : fmt::format("in setup: {}", findings_in_words(report));
      if (first == nullptr) text = summary;
      if (report.propagated.events != 0) {
        text += fmt::format("; {} propagated", core::counted(report.propagated.events, "event"));
      }
      if (!report.propagated.steps.empty()) {
        text +=
            fmt::format(" in step{} {}",
                        report.propagated.steps.size() == 1 && report.propagated.steps[0].first ==
                                                                   report.propagated.steps[0].second
                            ? ""
                            : "s",
                        step_ranges(report.propagated));
      }
      print(Ink::red, "DIVERGED", text);
      break;
    }
    case Verdict::inconclusive:
      print(Ink::yellow, "INCONCLUSIVE:", summary);
      break;
  }
}

void print_findings(const Report& report, Page& page) {
  std::size_t further = 0;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (i == 0) {
      page.line();
      render_first_finding(report, i, page);
      continue;
    }
    if (++further > kMostFurtherFindings) continue;
    page.line();
    render_further_finding(report, i, page);
  }
  if (further > kMostFurtherFindings) {
    page.line();
    page.line(fmt::format("and {}: see --format json",
                          core::counted(further - kMostFurtherFindings, "further finding")));
  }
}

bool is_plain_success(const Report& report) {
  return report.verdict == Verdict::identical && report.findings.empty() &&
         report.coverage.unseen.empty() && report.reference.complete && report.candidate.complete;
}

}  // namespace

void render_text(const Report& report, const Terminal& terminal, std::ostream& out) {
  Page page(terminal);
  print_golden(report, is_plain_success(report), page);
  if (is_plain_success(report)) {
    print_ranks(report, page);
  } else {
    print_runs(report, page);
    print_ranks(report, page);
    print_coverage(report.coverage, page);
    print_settings(report, page);
    render_rules(report, page);
    print_findings(report, page);
    render_op_budgets(report, page);
    render_path(report, page);
    render_growth(report, page);
    page.line();
    print_propagated(report.propagated, page);
  }
  print_verdict(report, page);
  out << page.text();
}

}  // namespace ulpscope::cli
