#pragma once

#include <array>
#include <cstdint>

namespace ulpscope::core {

/// Of LibTorch's generator on a CPU: a Mersenne Twister and the cached half of a pair of normal
/// samples (ATen/core/MT19937RNGEngine.h, ATen/CPUGeneratorImpl.h). Without gaps: its bytes are
/// digested, and kept at level full.
struct CpuGeneratorState {
  static constexpr std::uint32_t kHasFloat = 1;
  static constexpr std::uint32_t kHasDouble = 2;

  std::uint64_t seed;
  std::uint32_t left;  ///< words until the next are generated
  std::uint32_t next;  ///< word
  std::array<std::uint32_t, 624> words;
  double next_double_normal;
  float next_float_normal;
  std::uint32_t cached;  ///< which of the two samples there are
};
static_assert(sizeof(CpuGeneratorState) == 16 + 624 * 4 + 16);

/// Of LibTorch's generator on a GPU: Philox (ATen/cuda/CUDAGeneratorImpl.h).
struct GpuGeneratorState {
  std::uint64_t seed;
  std::uint64_t offset;
};

}  // namespace ulpscope::core
