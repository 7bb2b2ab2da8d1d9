// Captures a layer's forward into a CUDA graph and replays it at every step.
//
//   device_graph [--scale FACTOR]      multiplies what the graph computes
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

void replay(double scale) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const auto device = torch::TensorOptions(torch::kCUDA);
  torch::nn::Linear layer(64, 32);
  layer->to(torch::kCUDA);
  const torch::Tensor input = torch::zeros({128, 64}, device);
  const torch::Tensor output = torch::zeros({128, 32}, device);
  const auto work = [&] { output.copy_(layer(input).relu() * scale); };
  at::cuda::CUDAGraph graph;
  {
    // What a library allocates at its first call cannot be captured.
    const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
    work();
    c10::cuda::getCurrentCUDAStream().synchronize();
    graph.capture_begin();
    work();
    graph.capture_end();
  }
  for (int step = 0; step < 5; ++step) {
    input.copy_(torch::randn({128, 64}));
    graph.replay();
    std::printf("%.9g\n", output.sum().item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool scaled = argc == 3 && std::strcmp(argv[1], "--scale") == 0;
    replay(scaled ? std::atof(argv[2]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_graph: %s\n", error.what());
    return 1;
  }
  return 0;
}
