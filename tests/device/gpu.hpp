#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/device.hpp"

/// What the programs that run on a GPU have in common. Any error ends them with 1.
namespace ulpscope::test {

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::printf("FAILED: %s: %s\n", what, why);
  std::exit(1);
}

inline void check(const char* what, cudaError_t error) {
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

inline void check(const char* what, const device::Outcome& outcome) {
  static constexpr const char* kProblems[] = {"none",    "sizes",   "staging",
                                              "scratch", "results", "CUDA"};
  if (outcome.problem == device::Problem::cuda)
    fail(what, cudaGetErrorString(static_cast<cudaError_t>(outcome.cuda_error)));
  if (!outcome.ok()) fail(what, kProblems[static_cast<std::size_t>(outcome.problem)]);
}

/// Ends the program with a sentence and 77, which ctest takes for skipped, where there is no GPU.
inline void skip_without_gpu() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return;
  std::printf("skipped: there is no GPU here (%s)\n",
              error == cudaSuccess ? "no device" : cudaGetErrorString(error));
  std::exit(77);
}

inline const device::Functions& functions() {
  static const device::Functions* const found =
      ulpscope_device_functions(device::Functions::kVersion);
  if (found == nullptr) fail("libulpscope_device.so", "it is of another version");
  return *found;
}

/// Memory of the device, or page-locked memory of the host.
template <class Element, bool kOnDevice = true>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    const std::size_t bytes = (count == 0 ? 1 : count) * sizeof(Element);
    void* memory = nullptr;
    check("allocation", kOnDevice ? cudaMalloc(&memory, bytes) : cudaMallocHost(&memory, bytes));
    memory_ = static_cast<Element*>(memory);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { kOnDevice ? cudaFree(memory_) : cudaFreeHost(memory_); }

  [[nodiscard]] Element* data() const { return memory_; }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {reinterpret_cast<std::byte*>(memory_), count_ * sizeof(Element)};
  }
  void fill(int byte) const {
    check("cudaMemset", cudaMemset(memory_, byte, count_ * sizeof(Element)));
  }
  [[nodiscard]] std::vector<Element> read() const {
    std::vector<Element> elements(count_);
    check("cudaMemcpy",
          cudaMemcpy(elements.data(), memory_, count_ * sizeof(Element), cudaMemcpyDeviceToHost));
    return elements;
  }

 private:
  Element* memory_ = nullptr;
  std::size_t count_;
};
template <class Element>
using HostBuffer = Buffer<Element, false>;

/// A batch of values with all the memory that it takes, ready to be enqueued again and again.
class PreparedBatch {
 public:
  PreparedBatch(std::vector<device::Value> values, bool statistics, cudaStream_t stream)
      : values_(std::move(values)),
        needs_(needed(values_)),
        staging_(needs_.staging_bytes()),
        staged_(needs_.staging_bytes()),
        scratch_(needs_.scratch_bytes()),
        digests_(values_.size()),
        totals_(values_.size()),
        statistics_(statistics) {
    check("prepare", functions().prepare(scratch_.bytes(), stream));
    digests_.fill(0xa5);
    totals_.fill(0xa5);
    check("cudaDeviceSynchronize", cudaDeviceSynchronize());  // filled on a different stream
  }

  void enqueue(cudaStream_t stream, std::uint32_t first = 0) const {
    const auto capacity = static_cast<std::uint32_t>(values_.size());
    check("enqueue_digests",
          functions().enqueue_digests(
              values_, {scratch_.bytes(), staging_.bytes(), staged_.data()},
              {digests_.data(), statistics_ ? totals_.data() : nullptr, capacity, first}, stream));
  }
  [[nodiscard]] std::vector<Digest> digests() const { return digests_.read(); }
  [[nodiscard]] std::vector<device::StatisticsTotals> totals() const { return totals_.read(); }

 private:
  static device::Needs needed(std::span<const device::Value> values) {
    const auto needs = device::needs_of(values);
    if (!needs) fail("needs_of", "the values cannot be planned");
    return *needs;
  }

  std::vector<device::Value> values_;
  device::Needs needs_;
  HostBuffer<std::byte> staging_;
  Buffer<std::byte> staged_;
  Buffer<std::byte> scratch_;
  Buffer<Digest> digests_;
  Buffer<device::StatisticsTotals> totals_;
  bool statistics_;
};

/// Two values to compare with all the memory that it takes.
class PreparedComparison {
 public:
  PreparedComparison(const device::Value& reference, const device::Value& candidate,
                     cudaStream_t stream)
      : reference_(reference),
        candidate_(candidate),
        scratch_(device::ComparisonScratch::bytes_for(packed_size(reference.bytes))),
        result_(1) {
    check("prepare", functions().prepare(scratch_.bytes(), stream));
    result_.fill(0xa5);
    check("cudaDeviceSynchronize", cudaDeviceSynchronize());  // filled on a different stream
  }

  void enqueue(cudaStream_t stream) const {
    check("enqueue_difference",
          functions().enqueue_difference(reference_, candidate_, scratch_.bytes(), result_.data(),
                                         stream));
  }
  [[nodiscard]] device::DifferenceRecord record() const { return result_.read()[0]; }

 private:
  device::Value reference_;
  device::Value candidate_;
  Buffer<std::byte> scratch_;
  Buffer<device::DifferenceRecord> result_;
};

/// What `enqueue` puts into a stream, as a graph.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, Enqueue enqueue) {
    check("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    enqueue();
    check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph_));
    check("cudaGraphInstantiate", cudaGraphInstantiate(&runnable_, graph_, 0));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    cudaGraphExecDestroy(runnable_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t stream) const {
    check("cudaGraphLaunch", cudaGraphLaunch(runnable_, stream));
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace ulpscope::test
