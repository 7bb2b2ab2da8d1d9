#include "cli/render/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/render/budget_table.hpp"
#include "cli/render/findings_text.hpp"
#include "cli/render/growth_text.hpp"
#include "cli/render/model_differences_text.hpp"
#include "cli/render/page.hpp"
#include "cli/render/tensors_text.hpp"
#include "cli/render/tolerance_text.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "compare/report/environment.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kLongestSetting = 28;

std::string command_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_quoted(word));
  return escaped(fmt::format("{}", fmt::join(words, " ")));
}

std::string facts(const RunSummary& run, bool several_ranks,
                  const std::optional<std::string>& exit_code) {
  std::vector<std::string> parts{core::counted(run.steps, "step"),
                                 core::counted(run.events, "event"),
                                 core::counted(run.values, "value")};
  if (several_ranks) parts.insert(parts.begin(), core::counted(run.ranks, "rank"));
  if (!run.level.empty()) parts.push_back(fmt::format("level {}", escaped(run.level)));
  if (!run.complete) parts.emplace_back("incomplete");
  if (exit_code) parts.push_back(fmt::format("exit code {}", escaped(*exit_code)));
  if (!run.injected.empty())
    parts.push_back(fmt::format("results not its own (--inject at {})", escaped(run.injected)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What `of` has between the words that both commands begin and end with.
std::string words_apart(const std::vector<std::string>& of, const std::vector<std::string>& other) {
  const auto [first, unused] = std::mismatch(of.begin(), of.end(), other.begin(), other.end());
  const auto same_before = static_cast<std::size_t>(first - of.begin());
  std::size_t same_after = 0;
  while (same_before + same_after < std::min(of.size(), other.size()) &&
         of[of.size() - same_after - 1] == other[other.size() - same_after - 1])
    ++same_after;
  // An option's name says what its value is.
  const bool is_value = same_before > 1 && of[same_before - 1].starts_with("-");
  const auto begin = static_cast<std::ptrdiff_t>(same_before - (is_value ? 1 : 0));
  const auto end = static_cast<std::ptrdiff_t>(of.size() - same_after);
  return begin < end ? command_line({of.begin() + begin, of.begin() + end}) : std::string();
}

/// The candidate's command, by how it differs from the reference's where both run the same program.
std::string other_command(const std::vector<std::string>& reference,
                          const std::vector<std::string>& candidate) {
  if (candidate == reference) return "the same command";
  if (reference.empty() || candidate.front() != reference.front()) return command_line(candidate);
  const std::string here = words_apart(candidate, reference);
  const std::string there = words_apart(reference, candidate);
  if (there.empty()) return fmt::format("the same command with {}", here);
  if (here.empty()) return fmt::format("the same command without {}", there);
  return fmt::format("the same command with {} for {}", here, there);
}

void print_runs(const Report& report, Page& page) {
  const bool several_ranks = std::max(report.reference.ranks, report.candidate.ranks) > 1;
  const EnvironmentDifference* const codes = comparison::exit_codes(report);
  const auto print = [&](std::string_view label, const RunSummary& run,
                         const std::optional<std::string>& code, const std::string& command) {
    page.labelled(label, escaped(run.path), Ink::bold);
    page.labelled("", facts(run, several_ranks, code));
    if (!run.command.empty()) page.labelled("", command);
  };
  print("reference", report.reference, codes == nullptr ? std::nullopt : codes->reference,
        command_line(report.reference.command));
  print("candidate", report.candidate, codes == nullptr ? std::nullopt : codes->candidate,
        report.candidate.command.empty()
            ? std::string()
            : other_command(report.reference.command, report.candidate.command));
}

void print_ranks(const Report& report, Page& page) {
  const std::string matches = rank_matches(report);
  if (!matches.empty()) page.labelled("ranks", matches);
}

void print_coverage(const Coverage& coverage, Page& page) {
  std::vector<std::string> parts{core::counted(coverage.aligned, "event")};
  if (coverage.moved != 0)
    parts.push_back(fmt::format("{} of them in another order", core::grouped(coverage.moved)));
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
    if (&difference == comparison::exit_codes(report)) continue;  // printed with the runs
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
  page.line();
  page.labelled("propagated", fmt::format("{}: {}", core::counted(propagated.events, "event"),
                                          escaped(propagated.note)));
}

bool is_plain_success(const Report& report) {
  return report.verdict == Verdict::identical && report.findings.empty() &&
         report.coverage.unseen.empty() && report.reference.complete && report.candidate.complete &&
         comparison::exit_codes(report) == nullptr;
}

}  // namespace

void render_details(const Report& report, Page& page) {
  if (report.tensors) return render_tensors(report, page);
  if (is_plain_success(report)) {
    print_ranks(report, page);
    return;
  }
  render_findings(report, page);
  page.line();
  print_runs(report, page);
  print_ranks(report, page);
  render_model_differences(report, page);
  print_settings(report, page);
  print_coverage(report.coverage, page);
  render_rules(report, page);
  render_op_budgets(report, page);
  render_path(report, page);
  render_growth(report, page);
  print_propagated(report.propagated, page);
}

void render_text(const Report& report, const Terminal& terminal, std::ostream& out) {
  Page page(terminal);
  print_golden(report, is_plain_success(report), page);
  render_verdict(report, page);
  render_details(report, page);
  out << page.text();
}

}  // namespace ulpscope::cli
