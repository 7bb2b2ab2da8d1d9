// Trains a perceptron whose activations are custom autograd functions.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

namespace {

struct CustomSettings : programs::Basics {
  double slope = 1.5;
};

/// x * sigmoid(slope * x)
struct Swish : Function<Swish> {
  static Tensor forward(AutogradContext* context, const Tensor& x, double slope) {
    context->save_for_backward({x});
    context->saved_data["slope"] = slope;
    return x * torch::sigmoid(torch::mul(x, slope));
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const Tensor x = context->get_saved_variables()[0];
    const double slope = context->saved_data["slope"].toDouble();
    const Tensor gate = torch::sigmoid(torch::mul(x, slope));
    return {gradients[0] * (gate + slope * x * gate * (1 - gate)), Tensor()};
  }
};

/// Clamps its input to [-bound, bound] in place.
struct ClampInPlace : Function<ClampInPlace> {
  static Tensor forward(AutogradContext* context, Tensor x, double bound) {
    context->save_for_backward({x.abs() <= bound});
    x.clamp_(-bound, bound);
    context->mark_dirty({x});
    return x;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const Tensor inside = context->get_saved_variables()[0];
    return {gradients[0] * inside, Tensor()};
  }
};

/// Squares every element with its own loops instead of LibTorch's ops.
struct Square : Function<Square> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    const Tensor input = x.contiguous();
    context->save_for_backward({input});
    Tensor result = torch::empty_like(input);
    const float* from = input.const_data_ptr<float>();
    float* to = result.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < input.numel(); ++i) to[i] = from[i] * from[i];
    return result;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    return {2 * context->get_saved_variables()[0] * gradients[0]};
  }
};

struct NetImpl : nn::Module {
  explicit NetImpl(double slope) : slope_(slope) {
    fc1 = register_module("fc1", nn::Linear(64, 48));
    fc2 = register_module("fc2", nn::Linear(48, 48));
    fc3 = register_module("fc3", nn::Linear(48, 10));
  }

  Tensor forward(const Tensor& images) {
    const Tensor hidden = Swish::apply(fc1(images.flatten(1)), slope_);
    const Tensor clamped = ClampInPlace::apply(fc2(hidden), 2.0);
    return fc3(Square::apply(clamped));
  }

  double slope_;
  nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
};
TORCH_MODULE(Net);

void train(const CustomSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Net model(settings.slope);
  torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(1e-3));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  CustomSettings settings;
  CLI::App app("Trains a net with autograd functions of its own.", "custom_functions");
  programs::add_flags(app, settings);
  app.add_option("--slope", settings.slope, "Slope of the first activation");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
