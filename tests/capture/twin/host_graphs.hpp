#pragma once

#include <cstdint>
#include <functional>
#include <utility>

// Replaces at::cuda::CUDAGraph, under its mangled names: a capture runs what the program does,
// because ops need tensors to continue with, and a replay runs it again, unseen.
enum cudaStreamCaptureMode : unsigned { cudaStreamCaptureModeGlobal = 0 };

namespace at::cuda {

struct __attribute__((visibility("default"))) CUDAGraph {
  void capture_begin(std::pair<unsigned long long, unsigned long long> pool = {0, 0},
                     cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal);
  void capture_end();
  void replay();

  std::function<void()> work;
};

}  // namespace at::cuda

/// The number of the current capture, 0 for none: needed by the twin of the device backend.
extern "C" __attribute__((visibility("default"))) std::uint64_t host_capture() noexcept;
