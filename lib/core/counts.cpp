#include "core/counts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace ulpscope::core {
namespace {

/// Independent of the locale.
[[nodiscard]] std::string printed(double value, std::chars_format format, int digits) {
  std::array<char, 64> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, format, digits);
  return error == std::errc{} ? std::string(text.data(), end) : std::to_string(value);
}

[[nodiscard]] std::string fixed(double value, int decimals) {
  return printed(value, std::chars_format::fixed, decimals);
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4) {
    digits.insert(digits.size() - from_end, 1, ',');
  }
  return digits;
}

std::string ungrouped(std::string_view text) {
  std::string digits;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view group = rest.substr(0, comma);
    const bool fits = digits.empty() ? group.size() <= 3 : group.size() == 3;
    if (group.empty() || !fits || group.find_first_not_of("0123456789") != group.npos)
      return std::string(text);
    digits += group;
    if (comma == rest.npos) return digits;
    rest.remove_prefix(comma + 1);
  }
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  std::string text = grouped(number) + ' ';
  if (number == 1) return text.append(one);
  return many.empty() ? text.append(one) + 's' : text.append(many);
}

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits{" kB", " MB", " GB", " TB", " PB", " EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  auto size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 999.5 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return fixed(size, size < 9.95 ? 1 : 0) + kUnits[unit];
}

std::string duration(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds < 0.0995) return fixed(seconds * 1000, 0) + " ms";
  return fixed(seconds, seconds < 9.95 ? 1 : 0) + " s";
}

std::string short_number(double value) { return printed(value, std::chars_format::general, 3); }

std::string percentage(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "0%";
  if (part == whole) return "100%";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.1 ? "< 0.1%" : fixed(std::min(percent, 99.9), 1) + '%';
}

}  // namespace ulpscope::core
