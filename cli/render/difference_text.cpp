#include "cli/render/difference_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/render/tolerance_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/histogram.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kColumnGap = 4;
constexpr std::size_t kLeastHistogram = 34;
constexpr std::size_t kMostRows = 10;

/// A line whose columns are known though it is painted.
struct PaintedLine {
  std::string text;
  std::size_t width = 0;
};

/// `text` with what follows the start it shares with `other` made bold.
std::string with_changed_digits(const std::string& text, const std::string& other,
                                const Terminal& terminal) {
  const auto [here, there] = std::mismatch(text.begin(), text.end(), other.begin(), other.end());
  return std::string(text.begin(), here) + terminal.paint(Ink::red, std::string(here, text.end()));
}

std::string bits_text(const WorstElement& worst, std::size_t run) {
  if (worst.bit_width == 0) return {};
  return fmt::format("0x{:0{}x}", worst.bits.at(run), (worst.bit_width + 3) / 4);
}

/// "1 of 64 in dimension 1 (17)", for each dimension of which some indices do not differ; empty if
/// there is none, or if the largest difference is the only one.
std::string place_text(const Difference& difference) {
  if (difference.differing < 2) return {};
  std::vector<std::string> places;
  for (std::size_t dimension = 0; dimension < difference.axes.size(); ++dimension) {
    const AxisDifference& axis = difference.axes[dimension];
    if (axis.differing == axis.size) continue;
    places.push_back(fmt::format("{} of {} in dimension {} ({}{})", core::grouped(axis.differing),
                                 core::grouped(axis.size), dimension, fmt::join(axis.indices, ", "),
                                 axis.differing > axis.indices.size() ? ", ..." : ""));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

/// Two values may be one another's rounding: an op made them of the same inputs, or they are close.
bool counts_in_ulp(const Finding& finding, const TensorReport& tensor) {
  constexpr double kClose = 0x1p-7;  // bfloat16's eps
  return finding.of_file || finding.kind == FindingKind::origin || tensor.tolerance ||
         tensor.difference->budget || tensor.difference->scaled_max.value_or(1) < kClose;
}

class DifferenceLines {
 public:
  explicit DifferenceLines(const Terminal& terminal) : terminal_(terminal) {}

  void add(std::string_view label, std::string_view text) {
    const std::string head = padded(label, kLabelWidth);
    lines_.push_back({terminal_.paint(Ink::dim, head) + std::string(text),
                      display_width(head) + display_width(text)});
  }

  void add_worst(const WorstElement& worst) {
    const std::string values[] = {escaped(worst.reference), escaped(worst.candidate)};
    const std::string bits[] = {bits_text(worst, 0), bits_text(worst, 1)};
    const std::size_t value_width = std::max(display_width(values[0]), display_width(values[1]));
    for (const std::size_t run : {0U, 1U}) {
      const std::string& value = values[run];
      const std::string fill(value_width - display_width(value) + 2, ' ');
      const std::string head = padded(run == 0 ? "reference" : "candidate", kLabelWidth);
      lines_.push_back({terminal_.paint(Ink::dim, head) +
                            with_changed_digits(value, values[1 - run], terminal_) + fill +
                            with_changed_digits(bits[run], bits[1 - run], terminal_),
                        kLabelWidth + value_width + 2 + bits[run].size()});
    }
  }

  void add_count(std::string_view label, const ClassCount& count) {
    if (count.reference == 0 && count.candidate == 0) return;
    add(label, fmt::format("{} in the reference, {} in the candidate",
                           core::grouped(count.reference), core::grouped(count.candidate)));
  }

  [[nodiscard]] const std::vector<PaintedLine>& lines() const { return lines_; }
  [[nodiscard]] std::size_t width() const {
    std::size_t widest = 0;
    for (const PaintedLine& line : lines_) widest = std::max(widest, line.width);
    return widest;
  }

 private:
  const Terminal& terminal_;
  std::vector<PaintedLine> lines_;
};

void print_beside(const DifferenceLines& left, const std::vector<std::string>& right, Page& page) {
  const std::size_t rows = std::max(left.lines().size(), right.size());
  const std::size_t column = left.width() + kColumnGap;
  for (std::size_t row = 0; row < rows; ++row) {
    const PaintedLine line = row < left.lines().size() ? left.lines()[row] : PaintedLine{};
    std::string text(kIndent, ' ');
    text += line.text;
    if (row < right.size()) text += std::string(column - line.width, ' ') + right[row];
    page.framed(text);
  }
}

}  // namespace

void render_difference(const Report& report, const Finding& finding, const TensorReport& tensor,
                       Page& page) {
  if (!tensor.difference.has_value()) return;
  const Difference& difference = *tensor.difference;
  const Terminal& terminal = page.terminal();

  DifferenceLines facts(terminal);
  if (difference.worst) facts.add_worst(*difference.worst);
  const bool in_ulp = counts_in_ulp(finding, tensor);
  if (in_ulp)
    facts.add("distance", fmt::format("{} ULP at most, {} mean", core::grouped(difference.ulp_max),
                                      core::short_number(difference.ulp_mean)));
  facts.add("absolute",
            fmt::format("{} at most, {} rms", core::short_number(difference.absolute_max),
                        core::short_number(difference.absolute_rms)));
  if (difference.scaled_max) {
    facts.add("scaled", fmt::format("{} of the largest |reference|",
                                    core::short_number(*difference.scaled_max)));
  }
  if (const std::string place = place_text(difference); !place.empty()) facts.add("where", place);
  if (tensor.tolerance) facts.add("tolerance", tolerance_text(*tensor.tolerance, report));
  if (difference.budget) facts.add("budget", budget_text(*difference.budget));
  if (difference.budget && difference.budget->own)
    facts.add("replayed", own_text(*difference.budget->own));
  facts.add_count("NaN", difference.nan);
  facts.add_count("infinite", difference.inf);
  if (difference.subnormal.reference != difference.subnormal.candidate) {
    facts.add_count("subnormal", difference.subnormal);
  }
  if (difference.signed_zero != 0) {
    facts.add("zero",
              fmt::format("{} with a different sign", core::grouped(difference.signed_zero)));
  }

  const std::string title = finding.of_file ? std::string() : slot_title(tensor) + ": ";
  const bool scalar = !difference.worst || difference.worst->index.empty();
  page.framed();
  const std::string headline = scalar ? title + "largest difference"
                                      : fmt::format("{}largest difference, at [{}]", title,
                                                    fmt::join(difference.worst->index, ", "));
  for (const std::string& line : wrapped(headline, page.framed_width())) {
    page.framed(page.paint(Ink::bold, line));
  }

  if (!in_ulp) return print_beside(facts, {}, page);
  const std::size_t needed = kIndent + facts.width() + kColumnGap + kLeastHistogram;
  if (needed <= page.framed_width()) {
    const std::size_t room = page.framed_width() - kIndent - facts.width() - kColumnGap;
    print_beside(facts, histogram_lines(difference.histogram, kMostRows, room, terminal), page);
    return;
  }
  print_beside(facts, {}, page);
  page.framed();
  for (const std::string& line :
       histogram_lines(difference.histogram, kMostRows, page.framed_width() - kIndent, terminal)) {
    page.framed(std::string(kIndent, ' ') + line);
  }
}

}  // namespace ulpscope::cli
