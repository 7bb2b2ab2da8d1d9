#include "cli/render/tensors_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/render/finding_text.hpp"
#include "cli/render/tolerance_text.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostRows = 20;
constexpr std::size_t kLeastTensorName = 16;

std::string change(const Finding& finding) {
  std::vector<std::string> changes;
  const auto& [reference, candidate] = finding.tensors.front().shape;
  for (const ArgumentReport& argument : finding.arguments)
    changes.push_back(fmt::format("{} {} -> {}", argument.name, argument.reference.value_or(""),
                                  argument.candidate.value_or("")));
  if (reference != candidate)
    changes.push_back(
        fmt::format("shape [{}] -> [{}]", fmt::join(reference, ", "), fmt::join(candidate, ", ")));
  return fmt::format("{}", fmt::join(changes, ", "));
}

std::string row_text(const Report& report, const Finding& finding) {
  const TensorReport& tensor = finding.tensors.front();
  switch (finding.kind) {
    case FindingKind::parameter:
      return fmt::format("{}, {}{}", outcome(tensor), distance(*tensor.difference),
                         judged_text(tensor, report));
    case FindingKind::metadata:
      return change(finding);
    default:
      return fmt::format("in the {} only", finding.event.reference ? "reference" : "candidate");
  }
}

void print_others(const Report& report, Page& page) {
  const std::size_t others = report.findings.size() - 1;
  if (others == 0) return;
  page.line();
  page.line(page.paint(Ink::bold, core::counted(others, "further tensor")));
  Table table;
  Table narrow;
  for (std::size_t k = 1; k <= std::min(others, kMostRows); ++k) {
    const Finding& finding = report.findings[k];
    const Cell name{"  " + escaped(finding.tensors.front().name)};
    const Cell text{row_text(report, finding), is_error(finding, report) ? Ink::red : Ink::yellow};
    table.row({name, text});
    narrow.row({name});
    narrow.row({{"    " + text.text, text.ink}});
  }
  Table& shown = table.width() <= page.terminal().width ? table : narrow;
  shown.fit(0, page.terminal().width, kLeastTensorName, page.terminal());
  for (const std::string& line : shown.lines(page.terminal())) page.line(line);
  if (others > kMostRows)
    page.line(fmt::format("  and {} more: see --format json", core::grouped(others - kMostRows)));
}

void print_files(const Report& report, Page& page) {
  const auto print = [&](std::string_view label, const RunSummary& file) {
    page.labelled(label, escaped(file.path), Ink::bold);
    page.labelled(
        "", fmt::format("{}, {}", escaped(file.format), core::counted(file.values, "tensor")));
  };
  print("reference", report.reference);
  print("candidate", report.candidate);
  if (const std::string left_out = not_compared(report.coverage.not_compared); !left_out.empty())
    page.labelled("left out", left_out);
  std::string_view label = "note";
  for (const std::string& unseen : report.coverage.unseen) {
    page.labelled(label, escaped(unseen));
    label = "";
  }
  render_rules(report, page);
}

}  // namespace

void render_tensors(const Report& report, Page& page) {
  if (report.verdict == Verdict::identical && report.coverage.unseen.empty() &&
      report.coverage.not_compared.ignored == 0)
    return;
  if (!report.findings.empty()) {
    page.line();
    render_first_finding(report, 0, page);
    print_others(report, page);
  }
  page.line();
  print_files(report, page);
}

}  // namespace ulpscope::cli
