#pragma once

#include <memory>
#include <string>

#include "ulpscope/replay.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Makes processes that replay a run's ops: of the installed program for the LibTorch that the run
/// was recorded with, or else the newest one installed. Null if there is none.
[[nodiscard]] ReplayerFactory replayer_factory(const Run& run);

/// Why there is none: "no ulpscope-replay-2.11 in /usr/lib/ulpscope".
[[nodiscard]] std::string why_no_replayer(const Run& run);

/// One that is started as this process was.
[[nodiscard]] std::unique_ptr<Replayer> find_replayer(const Run& run);

}  // namespace ulpscope::cli
