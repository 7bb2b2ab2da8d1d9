#pragma once

#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The seed of a LibTorch generator that was made without one (c10::default_rng_seed_val).
inline constexpr std::uint64_t kDefaultSeed = 67280421310721ULL;

/// Seeds that people write are small; an unseeded default CPU generator has a seed from the
/// operating system, of 64 random bits.
[[nodiscard]] constexpr bool looks_drawn(std::uint64_t seed) noexcept {
  return seed != kDefaultSeed && seed >= (std::uint64_t{1} << 32);
}

/// False where a draw in another thread kept the generator from being looked at.
[[nodiscard]] inline bool is_known(const RngState& state) noexcept {
  return state.before != Digest{};
}

/// True if a seeded op took numbers from its generator.
[[nodiscard]] inline bool drew(const Event& event) noexcept {
  return (event.flags & event_flag::seeded) && event.rng.before != event.rng.after;
}

}  // namespace ulpscope::comparison
