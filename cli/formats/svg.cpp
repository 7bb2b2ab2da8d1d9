#include "cli/formats/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/formats/drawing.hpp"
#include "cli/formats/finding_words.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/terminal.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr double kWidth = 760;
constexpr double kMargin = 16;
constexpr double kLineHeight = 18;
constexpr double kAxisRoom = 64;  ///< for the numbers to the left of a chart
constexpr double kChartHeight = 180;
constexpr std::size_t kColumns = 90;
constexpr std::size_t kMostSentenceLines = 4;
constexpr std::size_t kMostPoints = 500;
constexpr std::size_t kMostLabels = 12;

/// Points that have a place on a logarithmic scale.
std::vector<const GrowthPoint*> drawn_points(const std::vector<GrowthPoint>& growth) {
  std::vector<const GrowthPoint*> points;
  const std::size_t stride = growth.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const bool chosen = i % stride == 0 || i + 1 == growth.size();
    const double scaled = growth[i].scaled_max.value_or(0);
    if (chosen && std::isfinite(scaled) && scaled > 0) points.push_back(&growth[i]);
  }
  return points;
}

/// The chart's heading, and what is left for its lines.
Area begin_chart(double top, const std::string& heading, Drawing& drawing) {
  drawing.text(kMargin, top + kLineHeight, heading, Anchor::begin, true);
  return {kMargin + kAxisRoom, top + 2 * kLineHeight, kWidth - 2 * kMargin - kAxisRoom,
          kChartHeight};
}

double draw_growth(const Report& report, double top, Drawing& drawing) {
  const std::vector<const GrowthPoint*> points = drawn_points(report.growth);
  if (points.size() < 2) return top;
  const Area area =
      begin_chart(top, "Largest difference by step, as a part of the largest |reference|", drawing);
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(),
      [](const auto* a, const auto* b) { return *a->scaled_max < *b->scaled_max; });
  const double low = std::floor(std::log10(*(*least)->scaled_max));
  const double high = std::max(std::ceil(std::log10(*(*most)->scaled_max)), low + 1);
  const auto height_of = [&](double exponent) {
    return area.bottom() - (exponent - low) / (high - low) * area.height;
  };
  const double decades = std::max(1.0, std::ceil((high - low) / 8));
  for (double exponent = low; exponent <= high; exponent += decades) {
    const double y = height_of(exponent);
    drawing.rule(area.left, y, area.right(), y);
    drawing.text(area.left - 8, y + 4, fmt::format("1e{:+03.0f}", exponent), Anchor::end);
  }
  const auto first = static_cast<double>(points.front()->step);
  const double span = std::max(1.0, static_cast<double>(points.back()->step) - first);
  std::vector<std::pair<double, double>> places;
  for (const GrowthPoint* const point : points)
    places.emplace_back(area.left + (static_cast<double>(point->step) - first) / span * area.width,
                        height_of(std::log10(*point->scaled_max)));
  drawing.curve(places);
  const double below = area.bottom() + kLineHeight;
  drawing.text(area.left, below, fmt::format("step {}", points.front()->step));
  drawing.text(area.right(), below, fmt::format("step {}", points.back()->step), Anchor::end);
  return below + kLineHeight;
}

/// Bins of elements that differ; the equal ones would dwarf them.
std::vector<HistogramBin> differing_bins(const Difference& difference) {
  std::vector<HistogramBin> bins;
  for (const HistogramBin& bin : difference.histogram)
    if (bin.lower_bound != 0 && bin.count != 0) bins.push_back(bin);
  return bins;
}

/// Powers of two, as short as they are.
std::string bound_text(std::uint64_t bound) {
  constexpr std::uint64_t kLargestInFull = 4096;
  if (bound <= kLargestInFull) return core::grouped(bound);
  return fmt::format("2^{:.0f}", std::log2(static_cast<double>(bound)));
}

double draw_histogram(const Report& report, double top, Drawing& drawing) {
  if (report.findings.empty()) return top;
  const TensorReport* const tensor = farthest_tensor(report.findings.front());
  if (tensor == nullptr) return top;
  const std::vector<HistogramBin> bins = differing_bins(*tensor->difference);
  if (bins.empty()) return top;
  const Area area = begin_chart(top,
                                elided(fmt::format("Elements of {} by ULP distance: {}",
                                                   slot_title(*tensor), outcome(*tensor)),
                                       kColumns, {}),
                                drawing);
  const auto exponent = [](const HistogramBin& bin) {
    return std::log2(static_cast<double>(bin.lower_bound));
  };
  const double low = exponent(bins.front());
  const double each = area.width / (exponent(bins.back()) - low + 1);
  std::uint64_t most = 0;
  for (const HistogramBin& bin : bins) most = std::max(most, bin.count);
  for (const double part : {0.0, 1.0}) {
    const double y = area.bottom() - part * area.height;
    drawing.rule(area.left, y, area.right(), y);
    drawing.text(area.left - 8, y + 4, part == 0 ? "0" : core::grouped(most), Anchor::end);
  }
  const std::size_t stride = bins.size() / kMostLabels + 1;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double left = area.left + (exponent(bins[i]) - low) * each;
    const double height =
        std::max(1.0, static_cast<double>(bins[i].count) / static_cast<double>(most) * area.height);
    const double width = std::min(each * 0.8, 60.0);
    drawing.bar({left + (each - width) / 2, area.bottom() - height, width, height});
    if (i % stride == 0)
      drawing.text(left + each / 2, area.bottom() + kLineHeight, bound_text(bins[i].lower_bound),
                   Anchor::middle);
  }
  const double below = area.bottom() + 2 * kLineHeight;
  drawing.text(area.left, below, "ULP distance of at least");
  return below + kLineHeight;
}

double draw_verdict(const Report& report, Drawing& drawing) {
  const VerdictWords words = verdict_words(report);
  std::vector<std::string> lines =
      wrapped(fmt::format("{} {}", words.verdict, words.sentence), kColumns);
  if (lines.size() > kMostSentenceLines) lines.resize(kMostSentenceLines);
  double y = kMargin;
  for (const std::string& line : lines) {
    y += kLineHeight;
    drawing.text(kMargin, y, elided(line, kColumns, {}), Anchor::begin, &line == &lines.front());
  }
  return y + kLineHeight;
}

}  // namespace

void render_svg(const Report& report, std::ostream& out) {
  Drawing drawing(kWidth);
  double y = draw_verdict(report, drawing);
  y = draw_growth(report, y, drawing);
  y = draw_histogram(report, y, drawing);
  drawing.save(y + kMargin, out);
}

}  // namespace ulpscope::cli
