#pragma once

#include <ostream>

#include "cli/check/check_report.hpp"
#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// What a check has found, for people: the verdict in a sentence, how often it shows in how many
/// runs, then the comparison of the two runs that explain it.
void render_check(const CheckReport& report, const Terminal& terminal, std::ostream& out);

/// The comparison that explains what a check has found, with the verdict of the whole check: equal
/// runs are inconclusive if recording them made them equal.
[[nodiscard]] Report comparison_of(const CheckReport& report);

/// What a check has found as a JSON document, with the comparison's report inside.
void render_check_json(const CheckReport& report, std::ostream& out);

}  // namespace ulpscope::cli
