#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

#include "ulpscope/digest.hpp"

namespace at {
struct Generator;
}
namespace c10 {
struct GeneratorImpl;
}

namespace ulpscope::capture {

class Thread;

/// A generator's state: its seed and a digest. Of a CPU generator that is of the Mersenne Twister's
/// words, its place in them and the cached normal samples (aten/src/ATen/core/MT19937RNGEngine.h,
/// CPUGeneratorImpl.h), of a CUDA generator of Philox' seed and offset (aten/src/ATen/cuda/
/// CUDAGeneratorImpl.h).
struct RngFingerprint {
  std::uint64_t seed = 0;
  Digest state;
  bool fresh = false;  ///< nothing was drawn since it was seeded
  bool known = false;  ///< false: used by another thread, captured into a graph, unknown kind
};

/// Draws nothing. Does not wait for long: a generator that stays locked has an unknown fingerprint.
/// With `sender` the state itself is sent as well, as the content that has its digest.
[[nodiscard]] RngFingerprint fingerprint(const at::Generator& generator, Thread* sender = nullptr);
/// Of one that the program may have released: the state in which it was then. Not known of a
/// generator of a GPU that is gone.
[[nodiscard]] RngFingerprint last_fingerprint(
    const c10::weak_intrusive_ptr<c10::GeneratorImpl>& generator);
/// Of the generator that an op on a device draws from if it is given none.
[[nodiscard]] RngFingerprint default_fingerprint(c10::Device device, Thread* sender = nullptr);

}  // namespace ulpscope::capture
