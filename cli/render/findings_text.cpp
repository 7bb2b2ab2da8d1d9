#include "cli/render/findings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/render/finding_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostBlocks = 10;
constexpr std::size_t kMostLines = 10;  ///< of a block
constexpr std::size_t kLeastColumn = 12;

/// Further findings, by index, that have their first cause in common.
struct Block {
  const Cause* cause = nullptr;
  bool diverges = true;
  std::vector<std::size_t> findings;
};

bool same_cause(const Cause& a, const Cause& b) {
  return a.id == b.id && a.confidence == b.confidence;
}

/// In the order of their first findings.
std::vector<Block> blocks_of(const Report& report) {
  std::vector<Block> blocks;
  for (std::size_t i = 1; i < report.findings.size(); ++i) {
    const Cause* const cause = first_cause(report, i);
    const bool diverges = report.findings[i].diverges;
    const auto fits = [&](const Block& block) {
      return cause != nullptr && block.cause != nullptr && block.diverges == diverges &&
             same_cause(*block.cause, *cause);
    };
    const auto known = std::find_if(blocks.begin(), blocks.end(), fits);
    Block& block = known == blocks.end() ? blocks.emplace_back(Block{cause, diverges, {}}) : *known;
    block.findings.push_back(i);
  }
  return blocks;
}

void print_block(const Report& report, const Block& block, Page& page) {
  const Cause* const first = first_cause(report, 0);
  const bool as_first = first != nullptr && same_cause(*first, *block.cause);
  page.line(page.paint(
      Ink::bold,
      fmt::format("{} with {} {} ({})", core::counted(block.findings.size(), "further finding"),
                  as_first ? "the same cause," : "the cause", escaped(block.cause->id),
                  name(block.cause->confidence))));
  Table table;
  Table narrow;  // where it stands on a line of its own
  for (std::size_t k = 0; k < std::min(block.findings.size(), kMostLines); ++k) {
    const Finding& finding = report.findings[block.findings[k]];
    const Cell kind{fmt::format("  {}", name(finding.kind)),
                    is_error(finding, report) ? Ink::red : Ink::yellow};
    const Cell op{op_name(finding), Ink::bold};
    const Cell where{place(finding, report)};
    const Cell event{event_numbers(finding), Ink::dim};
    table.row({kind, op, where, event});
    narrow.row({kind, op});
    narrow.row({{}, where});
    narrow.row({{}, event});
  }
  Table& shown = table.width() <= page.terminal().width ? table : narrow;
  shown.fit(1, page.terminal().width, kLeastColumn, page.terminal());
  for (const std::string& line : shown.lines(page.terminal())) page.line(line);
  if (block.findings.size() > kMostLines)
    page.line(fmt::format("  and {} more: see --format json",
                          core::grouped(block.findings.size() - kMostLines)));
}

}  // namespace

void render_findings(const Report& report, Page& page) {
  if (report.findings.empty()) return;
  page.line();
  render_first_finding(report, 0, page);
  std::size_t printed = 0;
  std::size_t left_out = 0;
  for (const Block& block : blocks_of(report)) {
    if (printed++ >= kMostBlocks) {
      left_out += block.findings.size();
      continue;
    }
    page.line();
    if (block.findings.size() == 1)
      render_further_finding(report, block.findings.front(), page);
    else
      print_block(report, block, page);
  }
  if (left_out == 0) return;
  page.line();
  page.line(fmt::format("and {}: see --format json", core::counted(left_out, "further finding")));
}

}  // namespace ulpscope::cli
