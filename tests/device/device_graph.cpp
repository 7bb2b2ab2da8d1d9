// Captures a layer's forward into two CUDA graphs, one of which multiplies it, and replays the
// first at every step.
//
//   device_graph [--second]      replays the second
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <exception>

namespace {

void replay(bool second) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const auto device = torch::TensorOptions(torch::kCUDA);
  torch::nn::Linear layer(64, 32);
  layer->to(torch::kCUDA);
  const torch::Tensor input = torch::zeros({128, 64}, device);
  const torch::Tensor output = torch::zeros({128, 32}, device);
  const auto work = [&](double scale) { output.copy_(layer(input).relu() * scale); };
  at::cuda::CUDAGraph first_graph;
  at::cuda::CUDAGraph second_graph;
  {
    // What a library allocates at its first call cannot be captured.
    const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
    work(1);
    c10::cuda::getCurrentCUDAStream().synchronize();
    first_graph.capture_begin();
    work(1);
    first_graph.capture_end();
    second_graph.capture_begin();
    work(1.01);
    second_graph.capture_end();
  }
  for (int step = 0; step < 5; ++step) {
    input.copy_(torch::randn({128, 64}));
    (second ? second_graph : first_graph).replay();
    std::printf("%.9g\n", output.sum().item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    replay(argc == 2 && std::strcmp(argv[1], "--second") == 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_graph: %s\n", error.what());
    return 1;
  }
  return 0;
}
