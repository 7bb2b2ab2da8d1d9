#include "cli/formats/github.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/formats/finding_words.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostAnnotations = 9;  ///< beside the verdict: GitHub shows ten of a kind

/// As a command's data; `also` are further characters that end it where it stands.
std::string percent_encoded(std::string_view text, std::string_view also = {}) {
  std::string result;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || also.find(c) != also.npos;
    result += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return result;
}

std::string property(std::string_view text) { return percent_encoded(text, ":,"); }

void print_command(std::string_view command, const std::string& place, const std::string& title,
                   const std::string& message, std::ostream& out) {
  fmt::print(out, "::{} {}title={}::{}\n", command, place, property("ulpscope: " + title),
             percent_encoded(message));
}

std::string place_property(const Finding& finding) {
  const auto line = source_line(finding);
  return line ? fmt::format("file={},line={},", property(line->file), line->line) : std::string();
}

std::string_view command_for(Verdict verdict) {
  return verdict == Verdict::diverged || verdict == Verdict::inconclusive ? "error" : "notice";
}

}  // namespace

void render_github(const Report& report, std::ostream& out) {
  const VerdictWords words = verdict_words(report);
  const Finding* const first = report.first();
  print_command(command_for(report.verdict), first == nullptr ? "" : place_property(*first),
                std::string(name(report.verdict)),
                fmt::format("{} {}", words.verdict, words.sentence), out);
  const std::size_t shown = std::min(report.findings.size(), kMostAnnotations);
  for (std::size_t i = first == nullptr ? 0 : 1; i < shown; ++i) {
    const Finding& finding = report.findings[i];
    print_command(is_error(report, finding) ? "error" : "notice", place_property(finding),
                  std::string(name(finding.kind)), finding_sentence(report, i), out);
  }
  if (report.findings.size() > shown)
    print_command("notice", "", "more",
                  fmt::format("{} not shown: see the report as text or JSON",
                              core::counted(report.findings.size() - shown, "further finding")),
                  out);
}

}  // namespace ulpscope::cli
