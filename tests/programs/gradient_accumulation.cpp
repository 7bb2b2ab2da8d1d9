// Trains a perceptron on the digits, several batches to a step, and leaves out a step whose
// gradient is not finite.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct AccumulationSettings : programs::Basics {
  std::int64_t batches = 3;
  std::int64_t skip = 1;
  std::int64_t swap_batches = programs::kNever;
};

class PerceptronImpl : public nn::Module {
 public:
  PerceptronImpl() {
    register_module("hidden", hidden_);
    register_module("norm", norm_);
    register_module("head", head_);
  }

  Tensor forward(const Tensor& images) {
    return head_(torch::gelu(norm_(hidden_(images.flatten(1)))));
  }

 private:
  nn::Linear hidden_{64, 64};
  nn::LayerNorm norm_{nn::LayerNormOptions({64})};
  nn::Linear head_{64, 10};
};
TORCH_MODULE(Perceptron);

void train(const AccumulationSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Perceptron model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    optimizer.zero_grad();
    for (std::int64_t i = 0; i < settings.batches; ++i) {
      const bool swapped = step == settings.swap_batches && i < 2;
      const auto batch = digits.batch(settings.batches * step + (swapped ? 1 - i : i), 16);
      Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
      if (step == settings.skip && i == 0) loss = loss * std::numeric_limits<float>::infinity();
      (loss / settings.batches).backward();
      programs::print_step(step, loss);
    }
    const double norm = nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    if (std::isfinite(norm)) {
      optimizer.step();
    } else {
      std::printf("step %lld is left out\n", static_cast<long long>(step));
    }
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  AccumulationSettings settings;
  CLI::App app("Trains a perceptron, several batches to a step.", "gradient_accumulation");
  programs::add_flags(app, settings);
  app.add_option("--batches", settings.batches, "Batches of a step")->check(CLI::Range(2, 64));
  app.add_option("--skip", settings.skip, "Make the gradient of this step infinite");
  app.add_option("--swap-batches", settings.swap_batches,
                 "Swap the first two batches of this step");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
