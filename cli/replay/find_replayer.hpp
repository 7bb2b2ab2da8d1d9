#pragma once

#include <memory>

#include "ulpscope/replay.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Replays a run's ops: the installed program for the LibTorch that the run was recorded with, or
/// else the newest one installed. Null if there is none.
[[nodiscard]] std::unique_ptr<Replayer> find_replayer(const Run& run);

}  // namespace ulpscope::cli
