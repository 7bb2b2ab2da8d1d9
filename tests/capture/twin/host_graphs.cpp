#include "host_graphs.hpp"

#include <ATen/record_function.h>

namespace {

std::uint64_t captures = 0;
bool captured = false;

}  // namespace

std::uint64_t host_capture() noexcept { return captured ? captures : 0; }

void at::cuda::CUDAGraph::capture_begin(std::pair<unsigned long long, unsigned long long> /*pool*/,
                                        cudaStreamCaptureMode /*mode*/) {
  ++captures;
  captured = true;
}

void at::cuda::CUDAGraph::capture_end() { captured = false; }

void at::cuda::CUDAGraph::replay() {
  const at::RecordFunctionGuard unseen(false);
  work();
}
