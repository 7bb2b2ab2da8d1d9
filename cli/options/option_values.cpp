#include "cli/options/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/base/nearest.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::usage, message, hint);
}

template <class T>
T number(const std::string& source, const std::string& value, std::string_view what,
         std::string_view example) {
  T result{};
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, result);
  if (error == std::errc::result_out_of_range) {
    refuse(fmt::format("{} is out of range: {}", source, value),
           fmt::format("{} takes {}", source, what));
  }
  if (error != std::errc{} || rest != end) {
    refuse(fmt::format("{} takes {}, not '{}'", source, what, value),
           fmt::format("give it as {} {}", source, example));
  }
  return result;
}

}  // namespace

std::uint64_t whole_number(const std::string& source, const std::string& value) {
  return number<std::uint64_t>(source, value, "a whole number", "4");
}

std::int64_t signed_number(const std::string& source, const std::string& value) {
  return number<std::int64_t>(source, value, "a whole number", "4");
}

double tolerance(const std::string& source, const std::string& value) {
  const double result = number<double>(source, value, "a number", "1e-6");
  if (!std::isfinite(result) || result < 0) {
    refuse(fmt::format("{} takes a number that is not negative, not '{}'", source, value),
           fmt::format("give it as {} 1e-6", source));
  }
  return result;
}

std::uint64_t size_in_bytes(const std::string& source, const std::string& value) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = value.empty() ? kUnits.npos : kUnits.find(value.back());
  const unsigned shift = unit == kUnits.npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  const std::string digits = shift == 0 ? value : value.substr(0, value.size() - 1);
  const auto count = number<std::uint64_t>(source, digits, "a size", "8M");
  if (count > (~std::uint64_t{0} >> shift)) {
    refuse(fmt::format("{} is out of range: {}", source, value),
           fmt::format("{} takes a size such as 8M", source));
  }
  return count << shift;
}

std::size_t choice(const std::string& source, const std::string& value,
                   const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const std::string meant = nearest(value, choices);
  refuse(fmt::format("{} cannot be '{}'", source, value),
         meant.empty() ? fmt::format("it is one of {}", fmt::join(choices, ", "))
                       : fmt::format("did you mean {}?", meant));
}

}  // namespace ulpscope::cli
