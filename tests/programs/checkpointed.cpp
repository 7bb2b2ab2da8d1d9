// Trains a convolutional net on the digits, saves a checkpoint and resumes from one.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct CheckpointSettings : programs::Basics {
  std::string save, resume;
  bool without_optimizer = false;
};

struct ConvNetImpl : nn::Module {
  ConvNetImpl() {
    register_module("conv", conv);
    register_module("norm", norm);
    register_module("dropout", dropout);
    register_module("fc", fc);
  }

  Tensor forward(const Tensor& images) {
    const Tensor x = torch::max_pool2d(torch::relu(norm(conv(images))), 2);
    return fc(dropout(x.flatten(1)));
  }

  nn::Conv2d conv{nn::Conv2dOptions(1, 8, 3).padding(1)};
  nn::BatchNorm2d norm{8};
  nn::Dropout dropout{0.25};
  nn::Linear fc{128, 10};
};
TORCH_MODULE(ConvNet);

/// Everything that the rest of a training depends on: the file's model, optimizer and generator,
/// and the number of the next step.
class Checkpoint {
 public:
  Checkpoint(ConvNet& model, torch::optim::Optimizer& optimizer)
      : model_(model), optimizer_(optimizer) {}

  void save(const std::string& path, std::int64_t next_step) const {
    torch::serialize::OutputArchive file, model, optimizer;
    model_->save(model);
    optimizer_.save(optimizer);
    file.write("model", model);
    file.write("optimizer", optimizer);
    file.write("generator", at::detail::getDefaultCPUGenerator().get_state(), /*is_buffer=*/true);
    file.write("next_step", c10::IValue(next_step));
    file.save_to(path);
  }

  /// Returns the number of the step to continue with.
  std::int64_t load(const std::string& path, bool with_optimizer) {
    torch::serialize::InputArchive file, model, optimizer;
    file.load_from(path);
    file.read("model", model);
    model_->load(model);
    file.read("optimizer", optimizer);
    if (with_optimizer) optimizer_.load(optimizer);
    Tensor generator_state;
    file.read("generator", generator_state, /*is_buffer=*/true);
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(generator_state);
    c10::IValue next_step;
    file.read("next_step", next_step);
    return next_step.toInt();
  }

 private:
  ConvNet& model_;
  torch::optim::Optimizer& optimizer_;
};

void train(const CheckpointSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  ConvNet model;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(2e-3));
  Checkpoint checkpoint(model, optimizer);
  const std::int64_t first =
      settings.resume.empty() ? 0 : checkpoint.load(settings.resume, !settings.without_optimizer);
  model->train();
  for (std::int64_t step = first; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  if (!settings.save.empty()) checkpoint.save(settings.save, settings.steps);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  CheckpointSettings settings;
  CLI::App app("Trains a net that can be saved and resumed.", "checkpointed");
  programs::add_flags(app, settings);
  app.add_option("--save", settings.save, "Write a checkpoint to this file after the last step");
  app.add_option("--resume", settings.resume, "Go on from the checkpoint in this file")
      ->check(CLI::ExistingFile);
  app.add_flag("--without-optimizer", settings.without_optimizer,
               "Resume with a new optimizer instead of the saved one");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
