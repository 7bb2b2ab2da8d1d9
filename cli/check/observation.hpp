#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/check/made_run.hpp"

namespace ulpscope::cli {

/// Whether recording itself changes what a program leaves.
enum class Observation : std::uint8_t {
  unknown,         ///< no bare run was made, or the program leaves nothing that could be compared
  same,            ///< a recorded run leaves what a bare one does
  unclear,         ///< what runs print differs every time, though they computed the same
  bare_differ,     ///< bare runs leave different results, recorded runs equal ones
  recorded_differ  ///< recorded runs leave the same as each other, and not what bare runs leave
};
[[nodiscard]] std::string_view name(Observation observation) noexcept;

/// @param computed_the_same whether the recorded runs' dumps are equal.
[[nodiscard]] Observation observe(const std::vector<const MadeRun*>& bare,
                                  const std::vector<const MadeRun*>& recorded,
                                  bool computed_the_same);

}  // namespace ulpscope::cli
