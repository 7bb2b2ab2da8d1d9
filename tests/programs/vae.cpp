// Trains a variational autoencoder on the digits.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct VaeSettings : programs::Basics {
  std::int64_t extra_draw = programs::kNever;
};

struct Vae : nn::Module {
  static constexpr std::int64_t kLatent = 8;

  struct Output {
    Tensor reconstruction, mu, logvar;
  };

  Vae() {
    encoder = register_module("encoder", nn::Linear(64, 48));
    mu = register_module("mu", nn::Linear(48, kLatent));
    logvar = register_module("logvar", nn::Linear(48, kLatent));
    decoder1 = register_module("decoder1", nn::Linear(kLatent, 48));
    decoder2 = register_module("decoder2", nn::Linear(48, 64));
  }

  std::pair<Tensor, Tensor> encode(const Tensor& x) {
    const Tensor hidden = torch::relu(encoder(x));
    return {mu(hidden), logvar(hidden)};
  }

  Tensor reparametrise(const Tensor& mean, const Tensor& log_variance) {
    if (!is_training()) return mean;
    const Tensor deviation = torch::exp(0.5 * log_variance);
    return mean + torch::randn_like(deviation) * deviation;
  }

  Tensor decode(const Tensor& z) { return torch::sigmoid(decoder2(torch::relu(decoder1(z)))); }

  Output forward(const Tensor& x) {
    const auto [mean, log_variance] = encode(x);
    return {decode(reparametrise(mean, log_variance)), mean, log_variance};
  }

  nn::Linear encoder{nullptr}, mu{nullptr}, logvar{nullptr}, decoder1{nullptr}, decoder2{nullptr};
};

Tensor loss_of(const Vae::Output& output, const Tensor& x) {
  const Tensor reconstruction =
      torch::binary_cross_entropy(output.reconstruction, x, {}, torch::Reduction::Sum);
  const Tensor divergence =
      -0.5 * torch::sum(1 + output.logvar - output.mu.pow(2) - output.logvar.exp());
  return (reconstruction + divergence) / x.size(0);
}

void train(const VaeSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  const auto model = std::make_shared<Vae>();
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  model->train();
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor x = digits.batch(step, 64).data.flatten(1);
    if (step == settings.extra_draw) torch::rand({1});
    optimizer.zero_grad();
    const Tensor loss = loss_of(model->forward(x), x);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }

  const torch::NoGradGuard no_grad;
  model->eval();
  const Tensor drawn = model->decode(torch::randn({4, Vae::kLatent}));
  std::printf("mean of what it draws %.9g\n", static_cast<double>(drawn.mean().item<float>()));
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  VaeSettings settings;
  CLI::App app("Trains a variational autoencoder on the digits.", "vae");
  programs::add_flags(app, settings);
  app.add_option("--extra-draw", settings.extra_draw, "Draw one more random number in this step");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
