#include "dump/selector.hpp"

#include <charconv>
#include <string>

#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

[[noreturn]] void refuse(std::string_view part) {
  throw Error(ErrorCode::usage, "'" + std::string(part) + "' does not select anything.",
              "Write rank=N, steps=N, steps=N-M, or both with a comma between: rank=0,steps=5.");
}

template <class Number>
Number parse_number(std::string_view text, std::string_view part) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) refuse(part);
  return number;
}

void parse_steps(std::string_view value, std::string_view part, Selector& selector) {
  const auto dash = value.find('-');
  selector.first_step = parse_number<std::int64_t>(value.substr(0, dash), part);
  selector.last_step = dash == std::string_view::npos
                           ? selector.first_step
                           : parse_number<std::int64_t>(value.substr(dash + 1), part);
  if (*selector.last_step < *selector.first_step) refuse(part);
}

}  // namespace

Selector parse_selector(std::string_view text) {
  Selector selector;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part.starts_with("rank=") && !selector.rank) {
      const auto rank = parse_number<std::int64_t>(part.substr(5), part);
      if (rank > 0xffffffff) refuse(part);
      selector.rank = static_cast<std::uint32_t>(rank);
    } else if (part.starts_with("steps=") && !selector.first_step) {
      parse_steps(part.substr(6), part, selector);
    } else {
      refuse(part);
    }
  }
  return selector;
}

}  // namespace ulpscope::dump
