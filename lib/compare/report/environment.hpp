#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Settings that differ between two ranks at any time: those that can change a bit first, then by
/// key.
/// @param step_offset the candidate's step that is aligned with the reference's step 0.
/// @param late runs whose recording begins late: their earlier settings are unknown.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate,
    std::int64_t step_offset = 0, const Both<bool>& late = {});

/// The exit codes where both are known and differ, as a report has them: `program.exit_code`.
[[nodiscard]] std::optional<EnvironmentDifference> exit_code_difference(const RunInfo& reference,
                                                                        const RunInfo& candidate);
/// The same of a report; null if they do not differ.
[[nodiscard]] const EnvironmentDifference* exit_codes(const Report& report);

/// Whether a setting can change what an op computes.
[[nodiscard]] bool can_change_bits(std::string_view key);

/// Whether a setting of the two runs differed in that step.
[[nodiscard]] bool differs_in(const EnvironmentDifference& difference, std::int64_t step);

/// "from step 5", "in steps 5 - 6"; empty if they differ throughout.
[[nodiscard]] std::string when_words(const EnvironmentDifference& difference);

/// Those of them that a golden run's bits hang on: instruction set, threads, libraries.
[[nodiscard]] GoldenConditions golden_conditions(
    const std::vector<EnvironmentDifference>& differences);

}  // namespace ulpscope::comparison
