#include "device/kernels.hpp"
#include "device/packing.hpp"

namespace ulpscope::device {
namespace {

__global__ void __launch_bounds__(kPackThreads)
    pack_value(const __grid_constant__ Batch batch, Piece* to) {
  pack_piece(batch, to, std::uint64_t{blockIdx.x} * kPackThreads + threadIdx.x);
}

}  // namespace

cudaError_t load_packing_kernel() noexcept {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, pack_value);
}

cudaError_t launch_packing(const Batch& batch, Piece* to, cudaStream_t stream) noexcept {
  const std::uint64_t blocks = (pieces_of(*items_of(batch)) + kPackThreads - 1) / kPackThreads;
  if (blocks == 0) return cudaSuccess;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  (void)cudaGetLastError();  // of an earlier call
  pack_value<<<static_cast<unsigned>(blocks), kPackThreads, 0, stream>>>(batch, to);
  return cudaGetLastError();
}

}  // namespace ulpscope::device
