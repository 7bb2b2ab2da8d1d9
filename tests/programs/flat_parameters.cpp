// Trains a layer whose parameters share one memory, and whose gradients do, too, as those of
// cuDNN's RNNs.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

namespace {

struct FlatSettings : programs::Basics {
  double bias_scale = 1;
};

/// x * weight^T + bias, with gradients that are parts of one tensor.
struct FlatLinear : Function<FlatLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    context->save_for_backward({x, weight});
    return torch::addmm(bias, x, weight.t());
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const Tensor x = context->get_saved_variables()[0];
    const Tensor weight = context->get_saved_variables()[1];
    const Tensor flat = torch::empty({weight.numel() + weight.size(0)});
    const Tensor of_weight = flat.narrow(0, 0, weight.numel()).view(weight.sizes());
    const Tensor of_bias = flat.narrow(0, weight.numel(), weight.size(0));
    of_weight.copy_(gradients[0].t().mm(x));
    of_bias.copy_(gradients[0].sum(0));
    return {gradients[0].mm(weight), of_weight, of_bias};
  }
};

struct LayerImpl : nn::Module {
  LayerImpl(std::int64_t inputs, std::int64_t outputs) {
    const Tensor flat = torch::randn({inputs * outputs + outputs}) * 0.1;
    weight = register_parameter("weight", torch::empty({outputs, inputs}));
    bias = register_parameter("bias", torch::empty({outputs}));
    weight.set_data(flat.narrow(0, 0, inputs * outputs).view({outputs, inputs}));
    bias.set_data(flat.narrow(0, inputs * outputs, outputs));
  }
  Tensor forward(const Tensor& x) { return FlatLinear::apply(x, weight, bias); }
  Tensor weight, bias;
};
TORCH_MODULE(Layer);

void train(const FlatSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  nn::Sequential model(Layer(64, 48), nn::ReLU(), Layer(48, 10));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(1e-2));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    if (step == 1) {
      const Tensor bias = model->parameters()[1];
      for (std::int64_t i = 0; i < bias.numel(); ++i)
        bias.data_ptr<float>()[i] *= static_cast<float>(settings.bias_scale);
    }
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor loss =
        torch::cross_entropy_loss(model->forward(batch.data.flatten(1)), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  FlatSettings settings;
  CLI::App app("Trains layers whose parameters share memory.", "flat_parameters");
  programs::add_flags(app, settings);
  app.add_option("--bias-scale", settings.bias_scale,
                 "Factor of the first bias before step 1, past all ops");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
