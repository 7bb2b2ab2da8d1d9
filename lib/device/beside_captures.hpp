#pragma once

#include <cuda_runtime_api.h>

namespace ulpscope::device {

/// While it lives, what this thread asks of CUDA does not end a capture that another thread makes.
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
