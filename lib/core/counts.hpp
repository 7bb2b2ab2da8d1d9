#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace ulpscope::core {

/// 41235 as "41,235".
[[nodiscard]] std::string grouped(std::uint64_t number);

/// "41235" for "41,235"; other texts as they are.
[[nodiscard]] std::string ungrouped(std::string_view text);

/// "1 step", "50 steps"; `many` only where it is not `one` with an s.
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one,
                                  std::string_view many = {});

/// 1234567890 as "1.2 GB" (decimal units).
[[nodiscard]] std::string byte_size(std::uint64_t bytes);

/// "12 ms", "0.5 s", "75 s".
[[nodiscard]] std::string duration(std::chrono::nanoseconds time);

/// Three significant digits, as few characters as they need: "1.37e-08", "0.5", "inf".
[[nodiscard]] std::string short_number(double value);

/// "3.2%"; never "0%" for some nor "100%" for fewer than all.
[[nodiscard]] std::string percentage(std::uint64_t part, std::uint64_t whole);

}  // namespace ulpscope::core
