#include "compare/model/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ulpscope::comparison {

std::string step_words(std::int64_t step) {
  return step == kSetup ? "setup" : fmt::format("step {}", step);
}

std::string steps_words(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  std::string text;
  bool several = ranges.size() > 1;
  for (const auto& [first, last] : ranges) {
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{} - {}", first, last);
    several = several || first != last;
  }
  return (several ? "steps " : "step ") + text;
}

std::string event_words(const Event& event, std::int64_t step) {
  return fmt::format("{} at event {} ({})", event.op, event.position, step_words(step));
}

std::string output_name(std::uint16_t index) { return fmt::format("output {}", index); }

bool is_output(std::string_view argument) noexcept { return argument.starts_with("output "); }

std::string listed(const std::vector<std::string>& items, std::size_t shown) {
  std::string text;
  const std::size_t count = std::min(shown, items.size());
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > count) text += fmt::format(" and {} more", items.size() - count);
  return text;
}

bool is_mode(std::string_view argument) {
  return argument == "train" || argument == "training" || argument == "is_training" ||
         argument == "use_input_stats";
}

std::string_view parameter_of(std::string_view gradient) {
  constexpr std::string_view kSuffix = ".grad";
  if (!gradient.ends_with(kSuffix)) return {};
  gradient.remove_suffix(kSuffix.size());
  return gradient;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace ulpscope::comparison
