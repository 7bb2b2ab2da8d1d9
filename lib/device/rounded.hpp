#pragma once

#include <cmath>

#include "ulpscope/ulp.hpp"

namespace ulpscope::device {

/// The nearest number of an IEEE 754 format, of two the one whose last bit is 0
/// (IEEE 754-2019, 4.3.1).
template <class Format>
[[nodiscard]] typename Format::Bits rounded(double number) noexcept {
  static_assert(Format::kHasInfinity);
  using Bits = typename Format::Bits;
  constexpr Bits kInfinity = static_cast<Bits>(Format::kLargestFinite + 1);
  const Bits sign = std::signbit(number) ? Format::kSign : Bits{0};
  if (std::isnan(number)) return static_cast<Bits>(kInfinity | Format::kSmallestNormal >> 1);
  if (std::isinf(number)) return static_cast<Bits>(sign | kInfinity);
  const double size = std::abs(number);
  Bits below = 0;
  for (Bits above = Format::kLargestFinite; below < above;) {
    const Bits middle = static_cast<Bits>(below + (above - below + 1) / 2);
    if (Format::finite_value(middle) <= size)
      below = middle;
    else
      above = static_cast<Bits>(middle - 1);
  }
  const double under = Format::finite_value(below);
  // Beyond the largest number as if its exponent had one more.
  const double over = below == Format::kLargestFinite
                          ? under + (under - Format::finite_value(static_cast<Bits>(below - 1)))
                          : Format::finite_value(static_cast<Bits>(below + 1));
  const bool up = size - under > over - size || (size - under == over - size && (below & 1) != 0);
  return static_cast<Bits>(sign | static_cast<Bits>(below + (up ? 1 : 0)));
}

}  // namespace ulpscope::device
