#pragma once

#include <ostream>

#include "cli/check/bisection.hpp"
#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// Which settings make the difference, and what was tried.
void render_bisection(const Bisection& bisection, const Terminal& terminal, std::ostream& out);
void render_bisection_json(const Bisection& bisection, std::ostream& out);

}  // namespace ulpscope::cli
