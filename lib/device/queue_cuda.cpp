#include "device/queue_cuda.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "device/beside_captures.hpp"
#include "device/kernels.hpp"

namespace ulpscope::device {
namespace {

/// Our own memory, registered with CUDA: CUDA's memory is gone when the program ends CUDA, while
/// results may still be read.
void* allocate_host(std::size_t bytes) noexcept {
  const BesideCaptures beside;
  int device = -1;
  int same_address = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, device) !=
          cudaSuccess ||
      same_address == 0)
    return nullptr;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const unsigned flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  if (cudaHostRegister(memory, bytes, flags) == cudaSuccess) return memory;
  ::munmap(memory, bytes);
  return nullptr;
}

/// Zeroed on a separate stream, so that no work of the program is waited for.
std::byte* allocate_scratch(std::size_t bytes) noexcept {
  const BesideCaptures beside;
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  const bool ready = load_digest_kernels() == cudaSuccess && load_packing_kernel() == cudaSuccess &&
                     cudaMalloc(&memory, bytes) == cudaSuccess &&
                     cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
                     cudaMemsetAsync(memory, 0, bytes, stream) == cudaSuccess &&
                     cudaStreamSynchronize(stream) == cudaSuccess;
  if (stream != nullptr) cudaStreamDestroy(stream);
  if (ready) return static_cast<std::byte*>(memory);
  cudaFree(memory);
  return nullptr;
}

bool is_captured(Stream stream) noexcept {
  if (stream == cudaStreamPerThread) return true;  // it is a different one in every thread
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const bool known =
      cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status) == cudaSuccess;
  return !known || status != cudaStreamCaptureStatusNone;
}

bool copy_to_host(std::byte* to, const Value& value, Stream on) noexcept {
  Value in_memory_order = value;
  in_memory_order.order = core::Order::memory;
  const std::span<const Value> values(&in_memory_order, 1);
  const auto needs = needs_of(values);
  if (!needs || !needs->fits_inside()) return false;
  Batch batch;
  plan(values, batch.own_items.data(), batch.own_loops.data());
  const Item& item = batch.own_items[0];
  auto* const stream = static_cast<cudaStream_t>(on);
  if (item.loops == 0)
    return cudaMemcpyAsync(to, item.data, item.bytes, cudaMemcpyDeviceToHost, stream) ==
           cudaSuccess;
  return launch_packing(batch, reinterpret_cast<Piece*>(to), stream) == cudaSuccess;
}

bool digest(std::span<const Value> values, std::span<std::byte> scratch, const Results& results,
            Stream stream) noexcept {
  const auto needs = needs_of(values);
  if (!needs || !needs->fits_inside()) return false;
  Batch batch;
  batch.nodes = Nodes::in(scratch, results.statistics != nullptr);
  if (batch.nodes.capacity < needs->nodes) return false;
  plan(values, batch.own_items.data(), batch.own_loops.data());
  batch.count = needs->items;
  batch.leaves = needs->leaves;
  batch.has_trees = needs->nodes > 0;
  batch.results = results;
  return launch_digests(batch, static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

}  // namespace

const QueueCalls kCudaQueueCalls{&allocate_host, &allocate_scratch, &is_captured, &copy_to_host,
                                 &digest};

}  // namespace ulpscope::device
