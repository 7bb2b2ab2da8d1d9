#pragma once

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// True if a seeded op took numbers from its generator.
[[nodiscard]] inline bool drew(const Event& event) noexcept {
  return (event.flags & event_flag::seeded) && event.rng.before != event.rng.after;
}

}  // namespace ulpscope::comparison
