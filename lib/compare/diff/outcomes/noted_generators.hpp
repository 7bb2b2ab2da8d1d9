#pragma once

#include <string>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A generator that is not LibTorch's, whose states a run notes (Python's and NumPy's at both ends
/// and in between, `begin.rng.NAME`, `note.rng.NAME` and `end.rng.NAME`; one of the program's own):
/// both runs drew from the same stream of it, and leave it at different places.
struct ShiftedGenerator {
  std::string name;        ///< "numpy"
  Both<std::string> left;  ///< the states, as they were noted
  std::string last_equal;  ///< "step 3": the last until which both had one state; or empty
};

/// Of what two ranks have noted. A generator that nobody has seeded has no stream in common, and
/// one that nobody has drawn from since it was seeded leaves nothing. Nothing is said of one whose
/// last state in a run is not known.
[[nodiscard]] std::vector<ShiftedGenerator> shifted_generators(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

/// Whether states of generators noted as `left` by two runs are of one stream.
[[nodiscard]] bool of_one_stream(const Both<std::string>& left);

/// Whether threads of the program, which may draw from its generators, were seen.
[[nodiscard]] bool ran_beside_threads(const std::vector<EnvironmentEntry>& environment);

}  // namespace ulpscope::comparison
