#pragma once

#include <string>

#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// What a finding says happened, without where: "aten::mm produces different bits from identical
/// inputs".
[[nodiscard]] std::string what_happened(const Finding& finding);

/// One sentence for people. `reason` says why the verdict is inconclusive.
[[nodiscard]] std::string summary(const Report& report, const std::string& reason);

}  // namespace ulpscope::comparison
