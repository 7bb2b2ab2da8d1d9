// Trains a generator of digits against a discriminator, each with its own optimizer.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct GanSettings : programs::Basics {
  double generator_lr = 1e-3;
  double discriminator_lr = 2e-3;
};

constexpr std::int64_t kNoise = 16;

struct GeneratorImpl : nn::Module {
  GeneratorImpl() {
    fc1 = register_module("fc1", nn::Linear(kNoise, 64));
    norm = register_module("norm", nn::BatchNorm1d(64));
    fc2 = register_module("fc2", nn::Linear(64, 64));
  }

  Tensor forward(const Tensor& noise) { return torch::tanh(fc2(torch::relu(norm(fc1(noise))))); }

  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Generator);

struct DiscriminatorImpl : nn::Module {
  DiscriminatorImpl() {
    fc1 = register_module("fc1", nn::Linear(64, 64));
    dropout = register_module("dropout", nn::Dropout(0.3));
    fc2 = register_module("fc2", nn::Linear(64, 1));
  }

  Tensor forward(const Tensor& images) {
    return fc2(dropout(torch::leaky_relu(fc1(images), 0.2))).squeeze(1);
  }

  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::Dropout dropout{nullptr};
};
TORCH_MODULE(Discriminator);

/// How far the discriminator's scores are from calling everything real, or everything fake.
Tensor loss_against(const Tensor& scores, double target) {
  return torch::binary_cross_entropy_with_logits(scores, torch::full_like(scores, target));
}

void train(const GanSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Generator generator;
  Discriminator discriminator;
  torch::optim::Adam generator_optimizer(
      generator->parameters(),
      torch::optim::AdamOptions(settings.generator_lr).betas({0.5, 0.999}));
  torch::optim::Adam discriminator_optimizer(
      discriminator->parameters(),
      torch::optim::AdamOptions(settings.discriminator_lr).betas({0.5, 0.999}));

  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor real = digits.batch(step, 32).data.flatten(1) * 2 - 1;
    const Tensor fake = generator(torch::randn({32, kNoise}));

    discriminator_optimizer.zero_grad();
    const Tensor discriminator_loss =
        loss_against(discriminator(real), 1) + loss_against(discriminator(fake.detach()), 0);
    discriminator_loss.backward();
    discriminator_optimizer.step();

    generator_optimizer.zero_grad();
    const Tensor generator_loss = loss_against(discriminator(fake), 1);
    generator_loss.backward();
    generator_optimizer.step();

    programs::print_step(step, discriminator_loss);
    programs::print_step(step, generator_loss);
  }
  programs::print_digest(*generator);
  programs::print_digest(*discriminator);
}

}  // namespace

int main(int argc, char** argv) {
  GanSettings settings;
  CLI::App app("Trains a generator of digits against a discriminator.", "gan");
  programs::add_flags(app, settings);
  app.add_option("--generator-lr", settings.generator_lr, "Learning rate of the generator");
  app.add_option("--discriminator-lr", settings.discriminator_lr,
                 "Learning rate of the discriminator");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
