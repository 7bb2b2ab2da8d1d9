#include "device/device.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

#include "device/beside_captures.hpp"
#include "device/kernels.hpp"
#include "device/queue_cuda.hpp"

namespace ulpscope::device {
namespace {

[[nodiscard]] Outcome outcome_of(cudaError_t error) noexcept {
  if (error == cudaSuccess) return {};
  return {Problem::cuda, static_cast<int>(error)};
}

[[nodiscard]] Outcome prepare(std::span<std::byte> scratch, Stream stream) noexcept {
  for (const auto load : {&load_digest_kernels, &load_packing_kernel, &load_comparison_kernel})
    if (const cudaError_t error = load(); error != cudaSuccess) return outcome_of(error);
  if (scratch.empty()) return {};
  return outcome_of(
      cudaMemsetAsync(scratch.data(), 0, scratch.size(), static_cast<cudaStream_t>(stream)));
}

/// Puts items and loops where the kernel finds them.
[[nodiscard]] Outcome place(std::span<const Value> values, const Needs& needs, const Memory& memory,
                            Batch& batch, cudaStream_t stream) noexcept {
  if (needs.fits_inside()) {
    plan(values, batch.own_items.data(), batch.own_loops.data());
    return {};
  }
  const std::size_t size = needs.staging_bytes();
  if (memory.staging.size() < size || memory.staged == nullptr) return {Problem::staging};
  std::byte* const loops = memory.staging.data() + needs.items * sizeof(Item);
  plan(values, reinterpret_cast<Item*>(memory.staging.data()), reinterpret_cast<Loop*>(loops));
  batch.items = reinterpret_cast<const Item*>(memory.staged);
  batch.loops = reinterpret_cast<const Loop*>(memory.staged + needs.items * sizeof(Item));
  return outcome_of(
      cudaMemcpyAsync(memory.staged, memory.staging.data(), size, cudaMemcpyHostToDevice, stream));
}

[[nodiscard]] Outcome enqueue_digests(std::span<const Value> values, const Memory& memory,
                                      const Results& results, Stream on) noexcept {
  if (values.empty()) return {};
  const std::optional<Needs> needs = needs_of(values);
  if (!needs) return {Problem::sizes};
  if (results.capacity < needs->items || results.digests == nullptr) return {Problem::results};
  Batch batch;
  batch.nodes = Nodes::in(memory.scratch, results.statistics != nullptr);
  if (batch.nodes.capacity < needs->nodes) return {Problem::scratch};
  batch.count = needs->items;
  batch.leaves = needs->leaves;
  batch.has_trees = needs->nodes > 0;
  batch.results = results;
  auto* const stream = static_cast<cudaStream_t>(on);
  if (const Outcome placed = place(values, *needs, memory, batch, stream); !placed.ok())
    return placed;
  return outcome_of(launch_digests(batch, stream));
}

[[nodiscard]] Outcome enqueue_difference(const Value& reference, const Value& candidate,
                                         std::span<std::byte> scratch, DifferenceRecord* result,
                                         Stream stream) noexcept {
  Comparison comparison;
  if (!plan(reference, candidate, comparison)) return {Problem::sizes};
  if (result == nullptr) return {Problem::results};
  comparison.scratch = ComparisonScratch::in(scratch);
  if (comparison.scratch.record == nullptr || comparison.scratch.tiles < comparison.tiles)
    return {Problem::scratch};
  comparison.result = result;
  return outcome_of(launch_comparison(comparison, static_cast<cudaStream_t>(stream)));
}

[[nodiscard]] const char* error_text(int cuda_error) noexcept {
  return cudaGetErrorString(static_cast<cudaError_t>(cuda_error));
}

[[nodiscard]] int enter_device(int device) noexcept {
  int before = -1;
  if (cudaGetDevice(&before) != cudaSuccess) return -1;
  return before == device || cudaSetDevice(device) == cudaSuccess ? before : -1;
}

void leave_device(int before) noexcept {
  int now = -1;
  if (cudaGetDevice(&now) == cudaSuccess && now != before) cudaSetDevice(before);
}

[[nodiscard]] bool describe(Facts* facts) noexcept {
  const BesideCaptures beside;
  *facts = {};
  int device = -1;
  cudaDeviceProp properties;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return false;
  std::memcpy(facts->name, properties.name, sizeof facts->name);
  facts->name[sizeof facts->name - 1] = '\0';
  facts->capability = 10 * properties.major + properties.minor;
  facts->multiprocessors = properties.multiProcessorCount;
  facts->ecc = properties.ECCEnabled;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return false;
  facts->memory_total = total_bytes;
  facts->memory_free = free_bytes;
  return cudaDriverGetVersion(&facts->driver) == cudaSuccess &&
         cudaRuntimeGetVersion(&facts->runtime) == cudaSuccess;
}

[[nodiscard]] std::uint64_t capture_of(Stream stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  const bool known =
      cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(stream), &status, &number) == cudaSuccess;
  return known && status == cudaStreamCaptureStatusActive ? number : 0;
}

[[nodiscard]] bool copy(void* to, const void* from, std::size_t bytes, Stream stream) noexcept {
  const auto of = static_cast<cudaStream_t>(stream);
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of) == cudaSuccess &&
         cudaStreamSynchronize(of) == cudaSuccess;
}

const Functions kFunctions{
    Functions::kVersion, &prepare,      &enqueue_digests, &enqueue_difference,
    &error_text,         &enter_device, &leave_device,    &describe,
    &capture_of,         &copy,         &kCudaQueueCalls};

}  // namespace
}  // namespace ulpscope::device

const ulpscope::device::Functions* ulpscope_device_functions(std::uint32_t version) {
  using ulpscope::device::Functions;
  return version == Functions::kVersion ? &ulpscope::device::kFunctions : nullptr;
}
