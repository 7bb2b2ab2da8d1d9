#pragma once

#include <memory>
#include <string>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Opens a dump as given on the command line, `DUMP` or `DUMP@selector`.
[[nodiscard]] std::unique_ptr<Run> open_run(const std::string& argument);

}  // namespace ulpscope::cli
