#include "compare/measure/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/measure/elements.hpp"

namespace ulpscope::comparison {
namespace {

using Piece = ValuePair::Piece;

/// Whether a first piece alone shows that no number r has |candidate - r * reference| within
/// `slack` * |r| everywhere.
[[nodiscard]] bool rules_out(const std::vector<Number>& reference,
                             const std::vector<Number>& candidate, double slack) {
  // 1 / r, times the candidate, is within `slack` of the reference.
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double from = reference[i].value - slack;
    const double to = reference[i].value + slack;
    const double number = candidate[i].value;
    if (number == 0) {
      if (from > 0 || to < 0) return true;
      continue;
    }
    lowest = std::max(lowest, std::min(from / number, to / number));
    highest = std::min(highest, std::max(from / number, to / number));
  }
  return lowest > highest;
}

/// The reference's largest element.
struct Largest {
  double size = 0;
  double reference = 0;
  double candidate = 0;
  std::size_t nonzero = 0;
};

[[nodiscard]] bool find_largest(const ValuePair& pair, double slack, Largest& found) {
  bool possible = true;
  bool first = true;
  pair.for_each_piece([&](Piece a, Piece b) {
    constexpr std::size_t kFewBytes = 4096;
    if (first)
      possible = !rules_out(*decode(pair.dtype(), a.first(std::min(a.size(), kFewBytes))),
                            *decode(pair.dtype(), b.first(std::min(b.size(), kFewBytes))), slack);
    first = false;
    if (!possible) return false;
    const auto left = decode(pair.dtype(), a);
    const auto right = decode(pair.dtype(), b);
    for (std::size_t i = 0; i < left->size(); ++i) {
      const double size = std::abs((*left)[i].value);
      if (size > 0) ++found.nonzero;
      if (size > found.size) found = {size, (*left)[i].value, (*right)[i].value, found.nonzero};
    }
    return true;
  });
  return possible;
}

}  // namespace

std::optional<double> constant_ratio(const ValuePair& pair, const Difference& apart,
                                     double tolerance) {
  const auto none = [](const ClassCount& count) {
    return count.reference == 0 && count.candidate == 0;
  };
  if (!is_floating_point(pair.dtype()) || !none(apart.nan) || !none(apart.inf) || !apart.scaled_max)
    return std::nullopt;
  // Nowhere is the ratio further from 1 than at the largest element it can be. A hundredth more,
  // for how these numbers are rounded themselves.
  constexpr double kRoom = 1.01;
  if (*apart.scaled_max * kRoom < 100 * tolerance) return std::nullopt;
  Largest at;
  const double largest = apart.absolute_max / *apart.scaled_max;
  if (!find_largest(pair, kRoom * tolerance * largest, at)) return std::nullopt;

  constexpr std::size_t kFewest = 4;  // any one number is a multiple of any other
  if (at.nonzero < kFewest) return std::nullopt;
  const double ratio = at.candidate / at.reference;
  if (!std::isfinite(ratio) || ratio == 0 || std::abs(ratio - 1) < 100 * tolerance)
    return std::nullopt;
  bool everywhere = true;
  pair.for_each_piece([&](Piece a, Piece b) {
    const auto left = decode(pair.dtype(), a);
    const auto right = decode(pair.dtype(), b);
    for (std::size_t i = 0; i < left->size() && everywhere; ++i) {
      const double expected = ratio * (*left)[i].value;
      everywhere = std::abs((*right)[i].value - expected) <= tolerance * std::abs(ratio) * at.size;
    }
    return everywhere;
  });
  return everywhere ? std::optional(ratio) : std::nullopt;
}

}  // namespace ulpscope::comparison
