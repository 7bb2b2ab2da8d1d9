#pragma once

#include <vector>

#include "dump/rank_origin.hpp"
#include "ring/server.hpp"

namespace ulpscope::cli {

/// The processes that created the one that has introduced itself, as far as they still run, the
/// outermost first, then itself. Those above the process that records are left out.
[[nodiscard]] std::vector<dump::ProcessMark> process_path(const ring::Hello& hello);

}  // namespace ulpscope::cli
