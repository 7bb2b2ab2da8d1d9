#pragma once

#include <string>

#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// One sentence for people. `reason` says why the verdict is inconclusive.
[[nodiscard]] std::string summary(const Report& report, const std::string& reason);

}  // namespace ulpscope::comparison
