// Trains a convolutional net in bfloat16 under autocast.
#include <ATen/autocast_mode.h>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct AutocastSettings : programs::Basics {
  bool float32_head = false;
};

/// bfloat16 autocast on the CPU while it lives.
class Autocast {
 public:
  explicit Autocast(bool enabled) : before_(at::autocast::is_autocast_enabled(at::kCPU)) {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, enabled);
    at::autocast::increment_nesting();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, before_);
  }

 private:
  bool before_;
};

struct NetImpl : nn::Module {
  explicit NetImpl(bool float32_head) : float32_head_(float32_head) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("norm", norm);
    register_module("fc", fc);
  }

  Tensor forward(const Tensor& images) {
    Tensor x = torch::relu(conv1(images));
    x = torch::relu(norm(conv2(x)));
    x = torch::avg_pool2d(x, 2).flatten(1);
    if (!float32_head_) return fc(x);
    const Autocast off(false);
    return fc(x.to(torch::kFloat32));
  }

  bool float32_head_;
  nn::Conv2d conv1{nn::Conv2dOptions(1, 8, 3).padding(1)};
  nn::Conv2d conv2{nn::Conv2dOptions(8, 8, 3).padding(1)};
  nn::BatchNorm2d norm{8};
  nn::Linear fc{128, 10};
};
TORCH_MODULE(Net);

void train(const AutocastSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Net model(settings.float32_head);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(2e-3));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    Tensor loss;
    {
      const Autocast on(true);
      loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    }
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  AutocastSettings settings;
  CLI::App app("Trains in bfloat16 under autocast.", "autocast");
  programs::add_flags(app, settings);
  app.add_flag("--float32-head", settings.float32_head, "Keep the last layer in float32");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
