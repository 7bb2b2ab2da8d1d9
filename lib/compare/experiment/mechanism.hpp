#pragma once

#include "ulpscope/replay_report.hpp"

namespace ulpscope::comparison::experiment {

/// "A", "B".
[[nodiscard]] inline const char* letter(std::size_t run) noexcept { return run == 0 ? "A" : "B"; }

/// What is known before the mechanism is named.
struct Evidence {
  bool results_equal = false;  ///< those that the runs recorded
  bool results_known = true;   ///< the bytes of both are in the dumps
};

/// Decides `outcome`, `mechanism`, `factor`, `deterministic`, `nearer` and `summary` from the rest
/// of the report. Names nothing unless a run gives its recorded bits.
void name_mechanism(ReplayReport& report, const Evidence& evidence);

}  // namespace ulpscope::comparison::experiment
