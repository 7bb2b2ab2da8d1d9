#pragma once

#include <cstdint>

#include "capture/environment_values.hpp"

namespace ulpscope::capture {

/// Variables as the process was started with them: `env.NAME` with its value for those on an
/// allow-list, `env_names` with the names of the others. Nothing secret is on the list.
[[nodiscard]] EnvironmentValues starting_variables();

/// `env_now.NAME` of the allow-listed variables that the program has changed since, empty for a
/// removed one. Those in `told` are returned even if they are unchanged.
[[nodiscard]] EnvironmentValues changed_variables(const EnvironmentValues& told);

/// Differs from an earlier one when variables have been set or removed in between.
[[nodiscard]] std::uint64_t variables_stamp() noexcept;

}  // namespace ulpscope::capture
