#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A generator that the program has made and that runs leave in different states. At least one of
/// them has moved it after its last op: has seeded it, set its state or drawn from it in C++.
struct MovedGenerator {
  std::string name;        ///< "generator 2 of the program"
  Both<std::string> left;  ///< "seed 4, state c0ffee...", "seed 77" if nothing was drawn since
  Both<bool> moved;
};

/// Of what two ranks have noted at their end: how many generators the main thread's ops have drawn
/// from (`end.generators`), and which of them have moved since (`end.generator.N`, "seed 4, state
/// c0ffee... -> seed 77"; empty: not any more; without an arrow: not known). N counts them as they
/// are first drawn from, so that it means the same only if both runs have as many. Seeds that the
/// operating system drew and that nothing was drawn with leave nothing.
[[nodiscard]] std::vector<MovedGenerator> moved_generators(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

[[nodiscard]] bool is_moved_generator(std::string_view name);

}  // namespace ulpscope::comparison
