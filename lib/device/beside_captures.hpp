#pragma once

#include <cuda_runtime_api.h>

namespace ulpscope::device {

/// While it lives, CUDA calls of this thread do not end a capture in another thread.
class BesideCaptures {
 public:
  BesideCaptures() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace ulpscope::device
