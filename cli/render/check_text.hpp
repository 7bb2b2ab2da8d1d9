#pragma once

#include <ostream>

#include "cli/check/check_report.hpp"
#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// What a check has found, for people: the verdict in a sentence, how often it shows in how many
/// runs, then the comparison of the two runs that explain it.
void render_check(const CheckReport& report, const Terminal& terminal, std::ostream& out);

/// The same as a JSON document, with the comparison's report inside.
void render_check_json(const CheckReport& report, std::ostream& out);

}  // namespace ulpscope::cli
