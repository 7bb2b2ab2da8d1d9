#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The ops of events that show what a run leaves, and a process of a pool after each of its tasks.
inline constexpr std::string_view kEndOfRun = "end of run";
inline constexpr std::string_view kEndOfTask = "end of task";
[[nodiscard]] constexpr bool is_end(std::string_view op) noexcept {
  return op == kEndOfRun || op == kEndOfTask;
}
inline constexpr std::string_view kParameters = "parameters";

/// "step 17" or "setup".
[[nodiscard]] std::string step_words(std::int64_t step);

/// "steps 0 - 16, 18" of closed ranges.
[[nodiscard]] std::string steps_words(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges);

/// "aten::rand at event 12 (step 3)".
[[nodiscard]] std::string event_words(const Event& event, std::int64_t step);

/// "output 0": of what a module returns, where a finding lists it among the arguments.
[[nodiscard]] std::string output_name(std::uint16_t index);
[[nodiscard]] bool is_output(std::string_view argument) noexcept;

/// "a, b, c and 4 more" of at most `shown` items.
[[nodiscard]] std::string listed(const std::vector<std::string>& items, std::size_t shown = 6);

/// "fc.weight" of "fc.weight.grad"; empty if it is not the name of a gradient.
[[nodiscard]] std::string_view parameter_of(std::string_view gradient);

/// An argument that train() and eval() set: it is never computed.
[[nodiscard]] bool is_mode(std::string_view argument);

/// The number that a whole text spells; empty if it spells none.
[[nodiscard]] std::optional<double> number_in(std::string_view text);

}  // namespace ulpscope::comparison
