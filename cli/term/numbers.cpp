#include "cli/term/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ulpscope::cli {

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4) {
    digits.insert(digits.size() - from_end, ",");
  }
  return digits;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  if (number == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", grouped(number), one)
                      : fmt::format("{} {}", grouped(number), many);
}

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 999.5 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return size < 9.95 ? fmt::format("{:.1f} {}", size, kUnits[unit])
                     : fmt::format("{:.0f} {}", size, kUnits[unit]);
}

std::string duration(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1000);
  return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string short_number(double value) { return fmt::format("{:.3g}", value); }

std::string percentage(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "0%";
  if (part == whole) return "100%";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.1 ? "< 0.1%" : fmt::format("{:.1f}%", std::min(percent, 99.9));
}

}  // namespace ulpscope::cli
