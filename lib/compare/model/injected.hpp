#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Where recording gave a rank the values of another run (`record --inject`): "op", "module" or
/// "origins"; empty if it gave it none.
[[nodiscard]] std::string injected_at(const Run& run, std::uint32_t rank);

/// The same of a run: of the first rank that was given any.
[[nodiscard]] std::string injected_at(const Run& run);

}  // namespace ulpscope::comparison
