#include "cli/term/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kLongestBar = 24;

/// Elements whose distance is in [low, high].
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t count = 0;
};

/// Joins the bins of `exponents` neighboring powers of two; distance 0 stays separate.
std::vector<Range> merged(const std::vector<HistogramBin>& bins, unsigned exponents) {
  std::vector<Range> ranges;
  for (const HistogramBin& bin : bins) {
    if (bin.count == 0) continue;
    Range range{0, 0, bin.count};
    if (bin.lower_bound != 0) {
      const unsigned exponent = static_cast<unsigned>(std::bit_width(bin.lower_bound)) - 1;
      const unsigned first = exponent - exponent % exponents;
      const unsigned next = first + exponents;
      range.low = std::uint64_t{1} << first;
      range.high = next >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << next) - 1;
    }
    if (!ranges.empty() && ranges.back().low == range.low) {
      ranges.back().count += range.count;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

std::string label(const Range& range) {
  if (range.low == range.high) return core::grouped(range.low);
  if (range.high == ~std::uint64_t{0}) return fmt::format("{}+", core::grouped(range.low));
  return fmt::format("{} - {}", core::grouped(range.low), core::grouped(range.high));
}

/// A bar of `part / whole` times `width` columns, drawn to an eighth of a column; a nonzero part is
/// always visible.
std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width, bool ascii) {
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double columns =
      static_cast<double>(part) / static_cast<double>(whole) * static_cast<double>(width);
  if (ascii) {
    const auto full = static_cast<std::size_t>(columns + 0.5);
    return full == 0 ? "." : std::string(full, '#');
  }
  const auto eighths = std::max<std::size_t>(1, static_cast<std::size_t>(columns * 8 + 0.5));
  std::string result;
  for (std::size_t i = 0; i < eighths / 8; ++i) result += "█";
  result += kEighths[eighths % 8];
  return result;
}

}  // namespace

std::vector<std::string> histogram_lines(const std::vector<HistogramBin>& bins, std::size_t rows,
                                         std::size_t width, const Terminal& terminal) {
  unsigned exponents = 1;
  std::vector<Range> ranges = merged(bins, exponents);
  while (ranges.size() > rows && exponents < 64) ranges = merged(bins, ++exponents);

  Table table;
  table.row({{"ULP distance", Ink::dim, true}, {"elements", Ink::dim, true}});
  std::uint64_t most = 0;
  for (const Range& range : ranges) {
    table.row({{label(range), Ink::plain, true}, {core::grouped(range.count), Ink::plain, true}});
    if (range.low != 0) most = std::max(most, range.count);
  }
  std::vector<std::string> lines = table.lines(terminal);
  const std::size_t used = table.width() + 2;
  const std::size_t room = width > used ? std::min(width - used, kLongestBar) : 0;
  for (std::size_t i = 0; i < ranges.size() && room >= 4; ++i) {
    if (ranges[i].low == 0) continue;
    lines[i + 1] += fmt::format(
        "  {}", terminal.paint(Ink::yellow, bar(ranges[i].count, most, room, terminal.ascii)));
  }
  return lines;
}

}  // namespace ulpscope::cli
