#pragma once

#include <string_view>

#include "cli/render/page.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// The modules of a run as a tree: type, calls, parameters and gradients of each.
void render_modules(const Run& run, Page& page);

/// Parameters, calls and recorded values of one module: "layer1.conv1", "(root)", and with its root
/// "Critic::conv1". Prints nothing and returns false if the run has no such module.
[[nodiscard]] bool render_module(const Run& run, std::string_view path, Page& page);

}  // namespace ulpscope::cli
