#pragma once

#include <string>

#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// What a finding says happened, without where: "aten::mm produces different bits from identical
/// inputs".
[[nodiscard]] std::string what_happened(const Finding& finding);

/// "step 0, out 0 of aten::addmm in fc (event 0/41): 1.4e-05 scaled, 3e-07 absolute, 12 ULP;
/// allowed are rtol 1e-06".
[[nodiscard]] std::string outside_words(const OutsideValue& value);

/// "max_ulp 4, rtol 1e-05": those that are set.
[[nodiscard]] std::string limits_words(const Limits& limits);

/// One sentence for people. `reason` says why the verdict is inconclusive.
[[nodiscard]] std::string summary(const Report& report, const std::string& reason);

}  // namespace ulpscope::comparison
