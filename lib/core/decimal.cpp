#include "core/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace ulpscope::core {
namespace {

/// A positive decimal number: d.ddd times 10^exponent.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

/// Splits what std::to_chars writes in scientific notation: "d.ddde-07".
Decimal parse_scientific(std::string_view text) {
  const std::size_t mark = text.find('e');
  Decimal decimal;
  for (const char letter : text.substr(0, mark))
    if (letter != '.') decimal.digits += letter;
  const char* exponent = text.data() + mark + 1;
  if (*exponent == '+') ++exponent;
  std::from_chars(exponent, text.data() + text.size(), decimal.exponent);
  return decimal;
}

std::string layout(const Decimal& decimal, bool negative, Integral integral) {
  std::string text = negative ? "-" : "";
  const auto [digits, exponent] = decimal;
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    text += digits[0];
    if (count > 1) text += '.' + digits.substr(1);
    text += exponent < 0 ? "e-" : "e+";
    const int size = std::abs(exponent);
    if (size < 10) text += '0';
    return text + std::to_string(size);
  }
  if (exponent < 0)
    return text + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const int whole = exponent + 1;
  if (count > whole) {
    const auto point = static_cast<std::size_t>(whole);
    return text + digits.substr(0, point) + '.' + digits.substr(point);
  }
  text += digits + std::string(static_cast<std::size_t>(whole - count), '0');
  return integral == Integral::with_point ? text + ".0" : text;
}

std::optional<std::string> non_finite(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return std::nullopt;
}

template <class Float>
std::string shortest_in_own_format(Float value, Integral integral) {
  if (auto text = non_finite(value)) return *text;
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                          std::abs(value), std::chars_format::scientific);
  return layout(parse_scientific({buffer.data(), end}), std::signbit(value), integral);
}

/// The number of the format that is nearest to a positive `value`, the even one of two.
double rounded(double value, Precision format) {
  const int exponent = std::max(std::ilogb(value) - format.digits + 1, format.min_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

double read(std::uint64_t digits, int exponent) {
  const std::string text = std::to_string(digits) + 'e' + std::to_string(exponent);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The decimal of `precision` digits nearest to a positive `value` among those that read back.
std::optional<Decimal> reads_back(double value, int precision, Precision format) {
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific, precision - 1);
  Decimal nearest = parse_scientific({buffer.data(), end});
  const std::uint64_t digits = std::strtoull(nearest.digits.c_str(), nullptr, 10);
  const int unit = nearest.exponent - precision + 1;
  // Just above a power of two the numbers below are closer: the nearest decimal may read back as a
  // different number although one on the other side does not.
  std::optional<std::uint64_t> best;
  double best_error = 0;
  for (const std::uint64_t candidate : {digits, digits + 1, digits - 1}) {
    const double decimal = read(candidate, unit);
    if (decimal <= 0 || rounded(decimal, format) != value) continue;
    const double error_size = std::abs(decimal - value);
    if (best && error_size >= best_error) continue;
    best = candidate;
    best_error = error_size;
  }
  if (!best) return std::nullopt;
  std::string text = std::to_string(*best);
  nearest.exponent += static_cast<int>(text.size()) - precision;
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  nearest.digits = std::move(text);
  return nearest;
}

}  // namespace

std::string shortest(double value, Integral integral) {
  return shortest_in_own_format(value, integral);
}

std::string shortest(float value) { return shortest_in_own_format(value, Integral::bare); }

std::string shortest(double value, Precision format) {
  if (auto text = non_finite(value)) return *text;
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  constexpr int kAlwaysEnough = 17;
  for (int precision = 1; precision < kAlwaysEnough; ++precision)
    if (const auto decimal = reads_back(std::abs(value), precision, format))
      return layout(*decimal, std::signbit(value), Integral::bare);
  return shortest(value);
}

std::string join_complex(const std::string& real, const std::string& imaginary) {
  return '(' + real + (imaginary.starts_with('-') ? "" : "+") + imaginary + "j)";
}

}  // namespace ulpscope::core
