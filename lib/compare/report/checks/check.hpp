#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What a single run shows about a habit of programs whose runs differ.
struct Check {
  enum class Result : std::uint8_t {
    ok,      ///< looked for and not there
    look,    ///< present: may be intended, and is worth checking
    unseen,  ///< cannot be determined from this recording
  };
  std::string_view name;  ///< "seeds", "order", ...
  Result result = Result::ok;
  std::string text;                  ///< one sentence
  std::vector<std::string> details;  ///< where, a place each
};
[[nodiscard]] std::string_view name(Check::Result result) noexcept;

/// All checks of a rank, always the same ones in the same order.
[[nodiscard]] std::vector<Check> check_rank(const Run& run, std::uint32_t rank);

/// Whether the ranks of a run work on batches of one size.
[[nodiscard]] Check check_replicas(const Run& run);

}  // namespace ulpscope::comparison
