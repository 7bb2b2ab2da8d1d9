#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compare/side.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Settings whose last value differs between two ranks: those that can change a bit first, then by
/// key.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

/// Whether a setting can change what an op computes.
[[nodiscard]] bool can_change_bits(std::string_view key);

}  // namespace ulpscope::comparison
