#pragma once

#include <cuda_runtime_api.h>

#include "device/batch.hpp"
#include "device/comparison.hpp"

/// What a kernel source file offers to the rest of the library.
namespace ulpscope::device {

/// Load kernels, so that launching one loads nothing.
[[nodiscard]] cudaError_t load_digest_kernels() noexcept;

/// One launch for a batch of at least one value.
[[nodiscard]] cudaError_t launch_digests(const Batch& batch, cudaStream_t stream) noexcept;

[[nodiscard]] cudaError_t load_packing_kernel() noexcept;

/// Packs the one value of a batch; `to` has space for whole pieces.
[[nodiscard]] cudaError_t launch_packing(const Batch& batch, Piece* to,
                                         cudaStream_t stream) noexcept;

[[nodiscard]] cudaError_t load_comparison_kernel() noexcept;

/// One launch for one pair of values.
[[nodiscard]] cudaError_t launch_comparison(const Comparison& comparison,
                                            cudaStream_t stream) noexcept;

}  // namespace ulpscope::device
