#include "cli/options/run_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "cli/options/option_values.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {

std::size_t at_least(std::size_t least, const std::string& source, const std::string& value) {
  const std::uint64_t number = whole_number(source, value);
  if (number < least || number > 1'000'000) {
    throw Error(ErrorCode::usage,
                fmt::format("{} takes a number from {} on, not {}", source, least, value),
                least == 2 ? "one run alone cannot differ" : "");
  }
  return static_cast<std::size_t>(number);
}

/// "90", "90s", "10m", "2h"
std::chrono::duration<double> time_span(const std::string& source, const std::string& value) {
  double number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string unit(rest, value.data() + value.size());
  const double seconds = unit.empty() || unit == "s" ? 1
                         : unit == "m"               ? 60
                         : unit == "h"               ? 3600
                                                     : 0;
  if (error != std::errc() || seconds == 0 || !(number > 0)) {
    throw Error(ErrorCode::usage, fmt::format("{} takes a time, not '{}'", source, value),
                "write 90s, 10m or 2h");
  }
  return std::chrono::duration<double>(number * seconds);
}

std::string existing_file(const std::string& source, const std::string& value) {
  std::error_code error;
  if (std::filesystem::is_regular_file(value, error)) return value;
  throw Error(ErrorCode::usage, fmt::format("{}: '{}' is not a file", source, value));
}

}  // namespace ulpscope::cli
