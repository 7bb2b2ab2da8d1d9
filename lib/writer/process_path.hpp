#pragma once

#include <vector>

#include "dump/rank_origin.hpp"
#include "ring/server.hpp"

namespace ulpscope::writer {

/// The processes that created the one that has introduced itself and that still run, the outermost
/// first, then itself. Those above the recording process are left out.
[[nodiscard]] std::vector<dump::ProcessMark> process_path(const ring::Hello& hello);

}  // namespace ulpscope::writer
