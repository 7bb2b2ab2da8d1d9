// Trains under LibTorch's profilers and prints what they saw.
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/autograd/profiler_legacy.h>

#include "basics.hpp"

namespace nn = torch::nn;
namespace profiler = torch::autograd::profiler;
using torch::Tensor;

namespace {

struct ProfiledSettings : programs::Basics {
  double eps = 1e-5;
};

struct NetImpl : nn::Module {
  explicit NetImpl(double eps) {
    fc1 = register_module("fc1", nn::Linear(64, 32));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({32}).eps(eps)));
    fc2 = register_module("fc2", nn::Linear(32, 10));
  }

  Tensor forward(const Tensor& images) {
    RECORD_USER_SCOPE("forward of Net");
    return fc2(torch::silu(norm(fc1(images.flatten(1)))));
  }

  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Net);

class Trainer {
 public:
  explicit Trainer(double eps)
      : model_(eps), optimizer_(model_->parameters(), torch::optim::SGDOptions(0.1)) {}

  void step(std::int64_t number) {
    const auto batch = digits_.batch(number, 32);
    optimizer_.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    loss.backward();
    optimizer_.step();
    programs::print_step(number, loss);
  }

  const nn::Module& model() const { return *model_; }

 private:
  programs::DigitTensors digits_;
  Net model_;
  torch::optim::SGD optimizer_;
};

/// How often a trace in Chrome's format names an op.
std::size_t count_in_trace(const std::string& trace, const std::string& op) {
  std::size_t count = 0;
  const std::string entry = "\"name\": \"" + op + "\"";
  for (auto at = trace.find(entry); at != std::string::npos; at = trace.find(entry, at + 1))
    ++count;
  return count;
}

void step_under_legacy_profiler(Trainer& trainer, std::int64_t number) {
  std::ostringstream trace;
  {
    const profiler::RecordProfile recorded(trace);
    trainer.step(number);
  }
  std::printf("trace names addmm %zu times\n", count_in_trace(trace.str(), "aten::addmm"));
}

void step_under_kineto(Trainer& trainer, std::int64_t number) {
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO,
                                        /*report_input_shapes=*/true,
                                        /*profile_memory=*/false, /*with_stack=*/false,
                                        /*with_flops=*/false, /*with_modules=*/false);
  const std::set<profiler::ActivityType> activities{profiler::ActivityType::CPU};
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  trainer.step(number);
  const auto result = profiler::disableProfiler();
  std::map<std::string, int> counts;
  for (const auto& event : result->events()) ++counts[event.name()];
  for (const char* name : {"aten::addmm", "aten::native_layer_norm", "AddmmBackward0",
                           "forward of Net", "aten::cross_entropy_loss"}) {
    std::printf("kineto saw %s %d times\n", name, counts[name]);
  }
  std::printf("kineto saw %zu events\n", result->events().size());
}

void train(const ProfiledSettings& settings) {
  programs::apply(settings);
  Trainer trainer(settings.eps);
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    if (step == 1) {
      step_under_legacy_profiler(trainer, step);
    } else if (step == 2) {
      step_under_kineto(trainer, step);
    } else {
      trainer.step(step);
    }
  }
  programs::print_digest(trainer.model());
}

}  // namespace

int main(int argc, char** argv) {
  ProfiledSettings settings;
  CLI::App app("Trains under LibTorch's profilers.", "profiled");
  programs::add_flags(app, settings);
  app.add_option("--eps", settings.eps, "Epsilon of the normalisation");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
