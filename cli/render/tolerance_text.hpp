#pragma once

#include <string>

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// "2027-01-31".
[[nodiscard]] std::string date_text(const std::chrono::year_month_day& date);

/// "inside, by tolerance.toml:12".
[[nodiscard]] std::string tolerance_text(const ToleranceResult& result, const Report& report);

/// "12 %", "650 times": a share of a budget.
[[nodiscard]] std::string share_text(double used);

/// "inside, takes 12 % of 70 ULP: sum of 4608 float32 products".
[[nodiscard]] std::string budget_text(const Budget& budget);

/// "on its own inputs the reference takes 3 %, the candidate 650 %".
[[nodiscard]] std::string own_text(const std::array<OwnBudget, 2>& own);

/// ", inside the tolerance (tolerance.toml:12), inside the budget": what was requested, to follow a
/// distance.
[[nodiscard]] std::string judged_text(const TensorReport& tensor, const Report& report);

/// What each rule of the tolerance decided, and which have expired.
void render_rules(const Report& report, Page& page);

}  // namespace ulpscope::cli
