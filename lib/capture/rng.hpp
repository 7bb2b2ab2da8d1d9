#pragma once

#include <cstdint>

#include "ulpscope/digest.hpp"

namespace at {
struct Generator;
}

namespace ulpscope::capture {

/// A CPU generator's state: its seed and a digest of the Mersenne Twister's words, its place in
/// them and the cached normal samples (aten/src/ATen/core/MT19937RNGEngine.h, CPUGeneratorImpl.h).
struct RngFingerprint {
  std::uint64_t seed = 0;
  Digest state;
  bool known = false;  ///< false: another device's generator, or one in use by another thread
};

/// Draws nothing. Does not wait: a generator that is locked gives an unknown fingerprint.
[[nodiscard]] RngFingerprint fingerprint(const at::Generator& generator);
[[nodiscard]] RngFingerprint default_cpu_fingerprint();

}  // namespace ulpscope::capture
