#pragma once

#include <ostream>
#include <string>

#include "cli/check/bisection.hpp"
#include "cli/render/page.hpp"
#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// "1 setting of 3 makes the difference: --eps: 1e-6 instead of 1e-5", or why that is not known.
[[nodiscard]] std::string bisection_answer(const Bisection& bisection);
/// Which settings make the difference, and what was tried.
void render_bisection(const Bisection& bisection, Page& page);
void render_bisection_json(const Bisection& bisection, std::ostream& out);

}  // namespace ulpscope::cli
