#pragma once

#include <string>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A generator that is not LibTorch's, whose states a run notes (Python's, NumPy's, one of the
/// program's own): both runs drew from the same stream of it, and leave it at different places.
struct ShiftedGenerator {
  std::string name;        ///< "numpy"
  Both<std::string> left;  ///< the states, as they were noted
  std::string last_equal;  ///< "step 3": where the reference was in a state that both had; or empty
};

/// Of what two ranks have noted. A generator that nobody has seeded has no stream in common.
[[nodiscard]] std::vector<ShiftedGenerator> shifted_generators(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

}  // namespace ulpscope::comparison
