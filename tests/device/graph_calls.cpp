// The members of at::cuda::CUDAGraph that lib/capture/interpose.cpp assumes, checked against
// LibTorch's header, which needs CUDA's.
#include <ATen/cuda/CUDAGraph.h>

#include <type_traits>
#include <utility>

namespace {

using at::cuda::CUDAGraph;
using Pool = std::pair<unsigned long long, unsigned long long>;

static_assert(std::is_same_v<decltype(&CUDAGraph::capture_begin),
                             void (CUDAGraph::*)(Pool, cudaStreamCaptureMode)>);
static_assert(std::is_same_v<std::underlying_type_t<cudaStreamCaptureMode>, unsigned>);
static_assert(std::is_same_v<decltype(&CUDAGraph::capture_end), void (CUDAGraph::*)()>);
static_assert(std::is_same_v<decltype(&CUDAGraph::replay), void (CUDAGraph::*)()>);

}  // namespace
