// A library that trains a small network, for a program that does not know LibTorch.
#include <torch/torch.h>

extern "C" __attribute__((visibility("default"))) double train(int steps) {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1));
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const torch::Tensor result = net->forward(torch::randn({3, 4})).square().mean();
    result.backward();
    optimizer.step();
    loss = result.item<double>();
  }
  return loss;
}
