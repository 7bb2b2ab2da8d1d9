#include "device/digest_phases.hpp"
#include "device/kernels.hpp"

namespace ulpscope::device {
namespace {

__constant__ xxh3::Secret secret_on_device = xxh3::kSecret;

template <bool kStatistics>
__global__ void __launch_bounds__(kThreads) digest_batch(const __grid_constant__ Batch batch) {
  using Shared = DigestShared<kStatistics>;
  // As bytes, because shared memory cannot be constructed.
  __shared__ alignas(16) unsigned char memory[sizeof(Shared)];
  DigestPhases<kStatistics> phases(batch, &secret_on_device[0], reinterpret_cast<Shared&>(memory),
                                   blockIdx.x, threadIdx.x);
  phases.begin();
  __syncthreads();
  while (true) {
    phases.sum();
    __syncwarp();
    phases.chain();
    __syncwarp();
    phases.close();
    if (!batch.has_trees) return;
    __syncthreads();
    phases.arrive();
    if (__syncthreads_or(phases.next() ? 1 : 0) == 0) return;
  }
}

}  // namespace

cudaError_t load_digest_kernels() noexcept {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, digest_batch<false>);
  return error != cudaSuccess ? error : cudaFuncGetAttributes(&attributes, digest_batch<true>);
}

cudaError_t launch_digests(const Batch& batch, cudaStream_t stream) noexcept {
  const auto blocks = static_cast<unsigned>((batch.leaves + kGroups - 1) / kGroups);
  (void)cudaGetLastError();  // of an earlier call
  if (batch.results.statistics == nullptr)
    digest_batch<false><<<blocks, kThreads, 0, stream>>>(batch);
  else
    digest_batch<true><<<blocks, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace ulpscope::device
