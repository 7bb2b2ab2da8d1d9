// A LibTorch training that records itself: train DUMP [EPS]
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>

#include "ulpscope/ulpscope.hpp"

namespace nn = torch::nn;

struct NetImpl : nn::Module {
  explicit NetImpl(double eps) {
    first = register_module("first", nn::Linear(8, 16));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({16}).eps(eps)));
    last = register_module("last", nn::Linear(16, 2));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const ulpscope::Scope scope("my block");
    return last(torch::gelu(norm(first(x))));
  }
  nn::Linear first{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Linear last{nullptr};
};
TORCH_MODULE(Net);

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  ulpscope::Recorder recorder{argv[1], {.level = ulpscope::Level::full}};
  torch::manual_seed(1);
  Net net(argc > 2 ? std::atof(argv[2]) : 1e-5);
  recorder.watch(*net, "model");
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int step = 0; step < 3; ++step) {
    const torch::Tensor loss = net->forward(torch::randn({4, 8})).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    recorder.step();
  }
} catch (const ulpscope::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
