#include "cli/formats/markdown.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/formats/finding_words.hpp"
#include "cli/formats/markdown_text.hpp"
#include "cli/render/text.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "compare/report/environment.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostBytes = 60'000;
constexpr std::size_t kMostFindings = 10;
constexpr std::size_t kMostSettings = 12;
constexpr std::size_t kMostArguments = 4;
constexpr std::size_t kWidestCell = 56;
constexpr std::size_t kWidestLine = 120;
constexpr std::size_t kLongestSentence = 800;

/// `text` in so many columns, as a name or a value.
std::string code(std::string_view text, std::size_t columns = kWidestCell) {
  return markdown_code(elided(escaped(text), columns, {}));
}

std::string prose(std::string_view text, std::size_t columns = kLongestSentence) {
  return markdown_prose(elided(escaped(text), columns, {}));
}

std::string cells_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string setting_cell(const std::optional<std::string>& value) {
  return value ? code(*value) : "(unset)";
}

std::string verdict_part(const Report& report) {
  const VerdictWords words = verdict_words(report);
  std::string part = fmt::format("**{}** {}\n", words.verdict, prose(words.sentence));
  if (!words.extent.empty()) part += fmt::format("\n{}\n", prose(words.extent));
  return part;
}

/// How to read what follows, where the golden run's conditions are not those of today.
std::string golden_part(const Report& report) {
  if (!report.golden || report.golden->differ.empty()) return {};
  std::vector<std::string> keys;
  for (const EnvironmentDifference& difference : report.golden->differ)
    if (keys.size() < kMostSettings) keys.push_back(code(difference.key));
  return fmt::format(
      "The golden run was recorded under other conditions, so that bits may differ without a fault "
      "of the program: {}\n\n",
      fmt::join(keys, ", "));
}

std::string result_text(const Finding& finding) {
  const TensorReport* const tensor = farthest_tensor(finding);
  if (tensor == nullptr) return {};
  return fmt::format("{}: {}; {}", code(slot_title(*tensor)), outcome(*tensor),
                     distance(*tensor->difference));
}

std::string arguments_text(const Finding& finding) {
  std::vector<std::string> parts;
  for (const ArgumentReport& argument : finding.arguments)
    if (parts.size() < kMostArguments)
      parts.push_back(
          fmt::format("{} is {} and {}", argument.name.empty() ? "it" : code(argument.name),
                      setting_cell(argument.reference), setting_cell(argument.candidate)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cause_text(const Report& report, std::size_t finding) {
  const Cause* const cause = first_cause(report, finding);
  if (cause == nullptr) return {};
  std::string text = prose(cause_words(report, finding));
  if (!cause->evidence.empty())
    text += fmt::format(": {}", prose(cause->evidence.front(), kWidestLine));
  return text;
}

std::string op_text(const Finding& finding) {
  std::vector<std::string> parts;
  if (!finding.op.empty()) parts.push_back(code(op_name(finding), kWidestLine));
  if (const std::string event = event_numbers(finding); !event.empty()) parts.push_back(event);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string line_text(const Finding& finding) {
  if (finding.where.empty() || finding.source.empty()) return code(finding.where, kWidestLine);
  return fmt::format("{}: {}", code(finding.where), code(finding.source, kWidestLine));
}

std::string first_part(const Report& report) {
  if (report.findings.empty()) return {};
  const Finding& finding = report.findings.front();
  std::string part = "\n| first finding | |\n|---|---|\n";
  const auto add = [&part](std::string_view label, const std::string& text) {
    if (!text.empty()) part += cells_line({std::string(label), text});
  };
  add("kind", fmt::format("{}: {}", name(finding.kind), prose(headline(finding))));
  add("place", code(place(finding, report), kWidestLine));
  add("op", op_text(finding));
  add("line", line_text(finding));
  add("arguments", arguments_text(finding));
  add("result", result_text(finding));
  add("cause", cause_text(report, 0));
  return part;
}

std::string findings_part(const Report& report) {
  if (report.findings.size() < 2) return {};
  std::string part = "\n| finding | op | place | ULP | cause |\n|---|---|---|--:|---|\n";
  const std::size_t shown = std::min(report.findings.size(), kMostFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = report.findings[i];
    const TensorReport* const tensor = farthest_tensor(finding);
    part += cells_line({std::string(name(finding.kind)), code(op_name(finding)),
                        code(place(finding, report)),
                        tensor == nullptr ? "" : core::grouped(tensor->difference->ulp_max),
                        prose(cause_words(report, i), kWidestCell)});
  }
  if (report.findings.size() > shown)
    part +=
        fmt::format("\nand {}\n", core::counted(report.findings.size() - shown, "further finding"));
  return part;
}

std::string settings_part(const Report& report) {
  std::string rows;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const EnvironmentDifference& difference : report.environment) {
    if (!difference.can_change_bits) continue;
    if (shown == kMostSettings) {
      ++left_out;
      continue;
    }
    ++shown;
    const std::string when = comparison::when_words(difference);
    rows += cells_line({fmt::format("{}{}{}", code(difference.key), when.empty() ? "" : " ", when),
                        setting_cell(difference.reference), setting_cell(difference.candidate)});
  }
  if (shown == 0) return {};
  std::string part =
      "\n| differs and can change bits | reference | candidate |\n|---|---|---|\n" + rows;
  if (left_out != 0) part += fmt::format("\nand {}\n", core::counted(left_out, "further setting"));
  return part;
}

/// The text report, in so many bytes.
std::string folded_part(const Report& report, std::size_t room) {
  constexpr std::string_view kBegin = "\n<details><summary>The report as text</summary>\n\n<pre>\n";
  constexpr std::string_view kEnd = "</pre>\n\n</details>\n";
  constexpr std::string_view kCut = "... ulpscope compare prints the rest\n";
  std::ostringstream report_text;
  render_text(report, {}, report_text);
  const std::string text = html_text(report_text.view());
  const std::size_t frame = kBegin.size() + kEnd.size() + kCut.size();
  if (room < frame) return {};
  if (text.size() <= room - frame) return fmt::format("{}{}{}", kBegin, text, kEnd);
  const std::size_t end = text.rfind('\n', room - frame - 1);
  const std::string_view whole_lines = std::string_view(text).substr(0, end + 1);
  return fmt::format("{}{}{}{}", kBegin, end == text.npos ? "" : whole_lines, kCut, kEnd);
}

}  // namespace

void render_markdown_report(const Report& report, std::ostream& out) {
  std::string summary = golden_part(report);
  summary += verdict_part(report);
  summary += first_part(report);
  summary += findings_part(report);
  summary += settings_part(report);
  if (!report.reference.path.empty())
    summary +=
        fmt::format("\nReference {}, candidate {}\n", code(report.reference.path, kWidestLine),
                    code(report.candidate.path, kWidestLine));
  const bool says_all = report.verdict == Verdict::identical && report.findings.empty();
  out << summary;
  if (!says_all) out << folded_part(report, kMostBytes - std::min(kMostBytes, summary.size()));
}

}  // namespace ulpscope::cli
