#pragma once

#include <cstdint>

#include "capture/environment_values.hpp"

namespace ulpscope::capture {

/// The settings that a program changes while it runs, as they are read: comparing them costs less
/// than formatting them.
struct EnvironmentFlags {
  std::uint64_t seed = 0;
  int threads = 0;
  int inter_op_threads = 0;  ///< 0: not known
  int matmul_precision = -1;
  std::int8_t deterministic = -1;  ///< -1: could not be read; else 0 off, 1 on, 2 warn only
  std::int8_t fill_uninitialised = -1;
  std::int8_t cudnn = -1;
  std::int8_t cudnn_benchmark = -1;
  std::int8_t cudnn_deterministic = -1;
  std::int8_t cudnn_tf32 = -1;
  std::int8_t cublas_tf32 = -1;
  std::int8_t cublas_fp16_reduction = -1;
  std::int8_t cublas_bf16_reduction = -1;
  std::int8_t cublas_fp16_accumulation = -1;
  std::int8_t cpu_fp16_reduction = -1;
  std::int8_t mkldnn = -1;
  std::int8_t mkldnn_deterministic = -1;
  std::int8_t mkldnn_conv = -1;  ///< at::Float32Precision
  std::int8_t mkldnn_matmul = -1;
  std::int8_t mkldnn_rnn = -1;
  std::int8_t sdp_flash = -1;
  std::int8_t sdp_mem_efficient = -1;
  std::int8_t sdp_math = -1;
  std::int8_t sdp_cudnn = -1;
  std::int8_t flush_denormal = -1;

  friend bool operator==(const EnvironmentFlags&, const EnvironmentFlags&) = default;
};

/// As they are now; threads and flush_denormal those of the calling thread.
[[nodiscard]] EnvironmentFlags read_flags();

/// Makes those that the recording's settings say the program begins with. It may change them later.
void set_flags_at_start();

/// What could be read, by key.
[[nodiscard]] EnvironmentValues in_words(const EnvironmentFlags& flags);

/// Intra-op threads as OpenMP has them now. Queries OpenMP itself: LibTorch's getter initializes
/// its thread pool as a side effect.
[[nodiscard]] int intra_op_threads();

/// Notes that the program has requested so many inter-op threads. LibTorch's getter initializes its
/// thread pools.
void note_inter_op_threads(int threads) noexcept;

}  // namespace ulpscope::capture
