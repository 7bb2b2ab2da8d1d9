// A library with a module, which a program loads and unloads again.

#include <torch/torch.h>

namespace {

struct ScalerImpl : torch::nn::Module {
  ScalerImpl() : inner(register_module("inner", torch::nn::Linear(4, 4))) {
    torch::nn::init::constant_(inner->weight, 0.25);
    torch::nn::init::constant_(inner->bias, 0.5);
  }
  torch::Tensor forward(const torch::Tensor& x) { return torch::sin(inner(x)); }
  torch::nn::Linear inner;
};
TORCH_MODULE(Scaler);

}  // namespace

extern "C" __attribute__((visibility("default"))) double faults_plugin_run(int round) {
  Scaler scaler;
  const torch::Tensor y = scaler(torch::full({2, 4}, 0.1F * static_cast<float>(round)));
  y.sum().backward();
  return y.sum().item<double>();
}
