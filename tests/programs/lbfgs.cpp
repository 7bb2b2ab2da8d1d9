// Fits the digits by LBFGS, whose step runs forward and backward in a closure.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct LbfgsSettings : programs::Basics {
  std::int64_t iterations = 4;
  double lr = 0.5;
  bool line_search = false;
};

struct LogisticImpl : nn::Module {
  LogisticImpl() { fc = register_module("fc", nn::Linear(64, 10)); }

  Tensor forward(const Tensor& images) { return torch::log_softmax(fc(images.flatten(1)), 1); }

  nn::Linear fc{nullptr};
};
TORCH_MODULE(Logistic);

void train(const LbfgsSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Logistic model;
  torch::optim::LBFGSOptions options(settings.lr);
  options.max_iter(settings.iterations).history_size(5);
  if (settings.line_search) options.line_search_fn("strong_wolfe");
  torch::optim::LBFGS optimizer(model->parameters(), options);
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 128);
    std::int64_t evaluations = 0;
    const auto closure = [&] {
      ++evaluations;
      optimizer.zero_grad();
      Tensor loss = torch::nll_loss(model->forward(batch.data), batch.target);
      loss.backward();
      return loss;
    };
    const Tensor loss = optimizer.step(closure);
    programs::print_step(step, loss);
    std::printf("after %lld evaluations\n", static_cast<long long>(evaluations));
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  LbfgsSettings settings;
  CLI::App app("Fits the digits by LBFGS.", "lbfgs");
  programs::add_flags(app, settings);
  app.add_option("--iterations", settings.iterations, "Iterations of one step")
      ->check(CLI::PositiveNumber);
  app.add_option("--lr", settings.lr, "Learning rate");
  app.add_flag("--line-search", settings.line_search, "Search along the direction");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
