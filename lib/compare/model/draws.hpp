#pragma once

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// False where a draw in another thread kept the generator from being looked at.
[[nodiscard]] inline bool is_known(const RngState& state) noexcept {
  return state.before != Digest{};
}

/// True if a seeded op took numbers from its generator.
[[nodiscard]] inline bool drew(const Event& event) noexcept {
  return (event.flags & event_flag::seeded) && event.rng.before != event.rng.after;
}

}  // namespace ulpscope::comparison
