#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpscope::dump {

/// The part of a dump that a user asked for: "rank=2", "steps=10-19", "rank=0,steps=5".
struct Selector {
  std::optional<std::uint32_t> rank;
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> last_step;

  [[nodiscard]] bool takes_rank(std::uint32_t number) const noexcept {
    return !rank || *rank == number;
  }
  [[nodiscard]] bool takes_step(std::int64_t step) const noexcept {
    return !first_step || (*first_step <= step && step <= *last_step);
  }
};

/// @throws Error with ErrorCode::usage.
[[nodiscard]] Selector parse_selector(std::string_view text);

}  // namespace ulpscope::dump
