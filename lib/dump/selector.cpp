#include "dump/selector.hpp"

#include <charconv>
#include <string>
#include <tuple>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

[[noreturn]] void refuse(std::string_view part) {
  throw Error(
      ErrorCode::usage, "'" + std::string(part) + "' does not select anything.",
      "Write rank=N, steps=N, steps=N-M, or several with commas between: rank=0,rank=4-7,steps=5.");
}

template <class Number>
Number parse_number(std::string_view text, std::string_view part) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || std::cmp_less(number, 0)) {
    refuse(part);
  }
  return number;
}

/// "N" or "N-M".
template <class Number>
std::pair<Number, Number> parse_range(std::string_view value, std::string_view part) {
  const auto dash = value.find('-');
  const auto first = parse_number<Number>(value.substr(0, dash), part);
  const auto last =
      dash == std::string_view::npos ? first : parse_number<Number>(value.substr(dash + 1), part);
  if (last < first) refuse(part);
  return {first, last};
}

}  // namespace

Selector parse_selector(std::string_view text) {
  Selector selector;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part.starts_with("rank=")) {
      const auto [first, last] = parse_range<std::uint32_t>(part.substr(5), part);
      selector.ranks.push_back({first, last});
    } else if (part.starts_with("steps=") && !selector.first_step) {
      std::tie(selector.first_step, selector.last_step) =
          parse_range<std::int64_t>(part.substr(6), part);
    } else {
      refuse(part);
    }
  }
  return selector;
}

}  // namespace ulpscope::dump
