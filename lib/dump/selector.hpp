#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ulpscope::dump {

/// The part of a dump that a user selected: "rank=2", "steps=10-19", "rank=0,rank=4-7,steps=5".
struct Selector {
  struct Ranks {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<Ranks> ranks;  ///< none: all
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> last_step;

  [[nodiscard]] bool takes_rank(std::uint32_t number) const noexcept {
    return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](const Ranks& some) {
             return some.first <= number && number <= some.last;
           });
  }
  [[nodiscard]] bool takes_step(std::int64_t step) const noexcept {
    return !first_step || (*first_step <= step && step <= *last_step);
  }
};

/// @throws Error with ErrorCode::usage.
[[nodiscard]] Selector parse_selector(std::string_view text);

}  // namespace ulpscope::dump
