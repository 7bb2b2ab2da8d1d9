#include "device/comparison_phases.hpp"
#include "device/kernels.hpp"

namespace ulpscope::device {
namespace {

__global__ void __launch_bounds__(kCompareThreads, 2)
    compare_values(const __grid_constant__ Comparison comparison) {
  // As bytes, because shared memory cannot be constructed.
  __shared__ alignas(16) unsigned char memory[sizeof(ComparisonShared)];
  PairSums sums;
  ComparisonPhases phases(comparison, reinterpret_cast<ComparisonShared&>(memory), gridDim.x,
                          blockIdx.x, threadIdx.x, sums);
  phases.begin();
  __syncthreads();
  for (std::uint64_t tile = blockIdx.x; tile < comparison.tiles; tile += gridDim.x) {
    phases.compare(tile);
    __syncthreads();
    phases.combine_squares();
    __syncthreads();
    phases.keep_squares(tile);
    __syncthreads();
  }
  phases.gather_sums();
  __syncthreads();
  phases.combine_worst();
  __syncthreads();
  phases.hand_over();
  __syncthreads();
  phases.arrive();
  __syncthreads();
  if (!phases.ends_last()) return;
  phases.add_blocks();
  __syncthreads();
  phases.combine_squares();
  phases.combine_worst();
  __syncthreads();
  phases.finish();
}

}  // namespace

cudaError_t load_comparison_kernel() noexcept {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, compare_values);
}

cudaError_t launch_comparison(const Comparison& comparison, cudaStream_t stream) noexcept {
  (void)cudaGetLastError();  // of an earlier call
  compare_values<<<blocks_for(comparison), kCompareThreads, 0, stream>>>(comparison);
  return cudaGetLastError();
}

}  // namespace ulpscope::device
