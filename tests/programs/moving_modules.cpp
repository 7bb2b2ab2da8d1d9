// Trains a model whose modules are shared, replaced and moved to a different dtype while it runs.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct MovingSettings : programs::Basics {
  std::int64_t raw_write = programs::kNever;
  bool starts_double = false;
};

/// Adds what two passes through one shared layer make of the input.
class ResidualImpl : public nn::Module {
 public:
  explicit ResidualImpl(std::int64_t width)
      : shared_(register_module("shared", nn::Linear(width, width))),
        norm_(register_module("norm", nn::BatchNorm1d(width))) {}

  Tensor forward(const Tensor& x) { return x + shared_(torch::relu(norm_(shared_(x)))); }

  Tensor running_mean() { return norm_->running_mean; }

 private:
  nn::Linear shared_;
  nn::BatchNorm1d norm_;
};
TORCH_MODULE(Residual);

class StackedImpl : public nn::Module {
 public:
  StackedImpl() {
    register_module("stem", stem_);
    register_module("blocks", blocks_);
    register_module("memory", memory_);
    register_module("head", head_);
    for (int i = 0; i < 2; ++i) blocks_->push_back(Residual(32));
  }

  Tensor forward(const Tensor& images) {
    Tensor x = stem_(images.flatten(1));
    for (const auto& block : *blocks_) x = block->as<ResidualImpl>()->forward(x);
    return head_(x + std::get<0>(memory_(x.unsqueeze(1))).squeeze(1));
  }

  /// The last layer is replaced, for a different number of classes.
  void replace_head(std::int64_t classes) {
    head_ = replace_module("head", nn::Linear(32, classes));
  }

  Tensor running_mean() { return blocks_->ptr<ResidualImpl>(1)->running_mean(); }

 private:
  nn::Linear stem_{64, 32};
  nn::ModuleList blocks_;
  nn::LSTM memory_{nn::LSTMOptions(32, 32).batch_first(true)};
  nn::Linear head_{32, 5};
};
TORCH_MODULE(Stacked);

/// An optimizer holds the parameters that it was made with, so each shape of the model gets its
/// own.
std::unique_ptr<torch::optim::SGD> optimizer_for(const Stacked& model) {
  return std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(0.02));
}

void train(const MovingSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Stacked model;
  const torch::Dtype first = settings.starts_double ? torch::kFloat64 : torch::kFloat32;
  if (settings.starts_double) model->to(first);
  auto optimizer = optimizer_for(model);
  const auto train_step = [&](std::int64_t step, torch::Dtype dtype, std::int64_t classes) {
    const auto batch = digits.batch(step, 32);
    if (step == settings.raw_write) {
      static_cast<char*>(model->running_mean().mutable_data_ptr())[2] ^= 0x40;
    }
    optimizer->zero_grad();
    const Tensor scores = model->forward(batch.data.to(dtype));
    const Tensor loss = torch::cross_entropy_loss(scores, batch.target % classes);
    loss.backward();
    optimizer->step();
    programs::print_step(step, loss.to(torch::kFloat32));
  };

  std::int64_t step = 0;
  for (; step < settings.steps; ++step) train_step(step, first, 5);
  model->replace_head(10);
  if (settings.starts_double) model->to(first);
  optimizer = optimizer_for(model);
  for (; step < 2 * settings.steps; ++step) train_step(step, first, 10);
  model->to(torch::kFloat64);
  optimizer = optimizer_for(model);
  for (; step < 3 * settings.steps; ++step) train_step(step, torch::kFloat64, 10);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  MovingSettings settings;
  settings.steps = 2;
  CLI::App app("Trains a model that changes while it runs.", "moving_modules");
  programs::add_flags(app, settings);
  app.get_option("--steps")->description("Training steps with each shape of the model");
  app.add_option("--raw-write", settings.raw_write,
                 "Change a running mean before this step, behind LibTorch's back");
  app.add_flag("--starts-double", settings.starts_double, "Move the model to float64 first");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
