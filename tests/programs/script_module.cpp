// Trains a TorchScript module that was defined in its own language.
#include <torch/script.h>

#include "basics.hpp"

using torch::Tensor;

namespace {

struct ScriptSettings : programs::Basics {
  double lr = 0.1;
};

constexpr const char* kForward = R"(
    def hidden(self, x):
        return torch.relu(torch.addmm(self.bias1, x, self.weight1))

    def forward(self, x):
        return torch.addmm(self.bias2, self.hidden(x), self.weight2)
)";

constexpr const char* kLoss = R"(
    def loss(scores, labels):
        chosen = torch.log_softmax(scores, 1).gather(1, labels.unsqueeze(1))
        return -chosen.mean()
)";

torch::jit::Module make_classifier() {
  torch::jit::Module module("Classifier");
  const auto add = [&module](const char* name, const Tensor& value) {
    module.register_parameter(name, value.requires_grad_(), /*is_buffer=*/false);
  };
  add("weight1", torch::randn({64, 48}) / 8);
  add("bias1", torch::zeros({48}));
  add("weight2", torch::randn({48, 10}) / 7);
  add("bias2", torch::zeros({10}));
  module.define(kForward);
  return module;
}

void train(const ScriptSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  torch::jit::Module model = make_classifier();
  const auto functions = torch::jit::compile(kLoss);
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : model.parameters()) parameters.push_back(parameter);
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(settings.lr));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor scores = model.forward({batch.data.flatten(1)}).toTensor();
    const Tensor loss = functions->run_method("loss", scores, batch.target).toTensor();
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  std::map<std::string, Tensor> trained;
  for (const auto& item : model.named_parameters()) trained[item.name] = item.value;
  programs::print_digest(trained);
}

}  // namespace

int main(int argc, char** argv) {
  ScriptSettings settings;
  CLI::App app("Trains a TorchScript module.", "script_module");
  programs::add_flags(app, settings);
  app.add_option("--lr", settings.lr, "Learning rate");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
