#include "cli/term/table.hpp"

#include <algorithm>
#include <numeric>

namespace ulpscope::cli {
namespace {

constexpr std::size_t kGap = 2;

std::size_t line_width(const std::vector<std::size_t>& widths) {
  if (widths.empty()) return 0;
  return std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap);
}

}  // namespace

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  return widths;
}

std::size_t Table::width() const { return line_width(column_widths()); }

void Table::fit(std::size_t column, std::size_t width, std::size_t least,
                const Terminal& terminal) {
  const std::vector<std::size_t> widths = column_widths();
  const std::size_t total = line_width(widths);
  if (total <= width || column >= widths.size()) return;
  const std::size_t excess = total - width;
  const std::size_t target =
      std::max(least, widths[column] > excess ? widths[column] - excess : std::size_t{0});
  for (auto& row : rows_) {
    if (column < row.size()) row[column].text = elided(row[column].text, target, terminal);
  }
}

std::vector<std::string> Table::lines(const Terminal& terminal) const {
  const std::vector<std::size_t> widths = column_widths();
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    std::size_t blanks = 0;  // held back, so that a line never ends in them
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t fill = widths[i] - display_width(row[i].text);
      if (row[i].text.empty()) {
        blanks += widths[i] + kGap;
        continue;
      }
      line += std::string(blanks + (row[i].right ? fill : 0), ' ');
      line += terminal.paint(row[i].ink, row[i].text);
      blanks = kGap + (row[i].right ? 0 : fill);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ulpscope::cli
