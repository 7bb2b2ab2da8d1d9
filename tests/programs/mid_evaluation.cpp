// Trains on the digits and evaluates in the middle of it.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct EvaluationSettings : programs::Basics {
  std::int64_t every = 2;
  bool stay_in_eval = false;
};

struct NetImpl : nn::Module {
  NetImpl() {
    features = register_module(
        "features",
        nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::BatchNorm2d(8),
                       nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Dropout(0.5)));
    fc = register_module("fc", nn::Linear(128, 10));
  }

  Tensor forward(const Tensor& images) { return fc(features->forward(images)); }

  nn::Sequential features{nullptr};
  nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

void evaluate(Net& model, const programs::DigitTensors& digits) {
  const torch::NoGradGuard no_grad;
  model->eval();
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto batch = digits.batch(50 + i, 32);
    right += model->forward(batch.data).argmax(1).eq(batch.target).sum().item<std::int64_t>();
  }
  std::printf("%lld of 96 right\n", static_cast<long long>(right));
}

void train(const EvaluationSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Net model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::optim::StepLR schedule(optimizer, 2, 0.5);
  evaluate(model, digits);
  model->train();
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    schedule.step();
    programs::print_step(step, loss);
    if ((step + 1) % settings.every == 0) {
      evaluate(model, digits);
      if (!settings.stay_in_eval) model->train();
    }
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  EvaluationSettings settings;
  CLI::App app("Trains on the digits and evaluates in between.", "mid_evaluation");
  programs::add_flags(app, settings);
  app.add_option("--every", settings.every, "Evaluate after this many steps")
      ->check(CLI::PositiveNumber);
  app.add_flag("--stay-in-eval", settings.stay_in_eval, "Go on training in eval mode");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
