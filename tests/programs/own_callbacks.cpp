// Counts its ops with its own record functions while it trains.
#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <atomic>
#include <future>
#include <thread>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct CallbackSettings : programs::Basics {
  double dropout = 0.1;
};

/// What the callbacks have seen. Sampled callbacks see a random part, which is not counted exactly.
struct Counts {
  std::atomic<std::int64_t> ops{0}, nodes{0}, inputs{0}, outputs{0}, finished{0};
  std::atomic<std::int64_t> sampled{0};
  std::int64_t on_main_thread = 0;
} counts;

/// Travels from the start callback to the end callback.
struct Started : at::ObserverContext {
  explicit Started(std::size_t given) : inputs(given) {}
  std::size_t inputs;
};

std::unique_ptr<at::ObserverContext> op_starts(const at::RecordFunction& record) {
  (record.scope() == at::RecordScope::FUNCTION ? counts.ops : counts.nodes) += 1;
  return std::make_unique<Started>(record.inputs().size());
}

void op_ends(const at::RecordFunction& record, at::ObserverContext* context) {
  counts.inputs += static_cast<std::int64_t>(static_cast<Started*>(context)->inputs);
  counts.outputs += static_cast<std::int64_t>(record.outputs().size());
  counts.finished += 1;
}

std::unique_ptr<at::ObserverContext> main_thread_op_starts(const at::RecordFunction&) {
  counts.on_main_thread += 1;
  return nullptr;
}

std::unique_ptr<at::ObserverContext> sampled_op_starts(const at::RecordFunction&) {
  counts.sampled += 1;
  return nullptr;
}

struct MixerImpl : nn::Module {
  explicit MixerImpl(double dropout) {
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({8})));
    tokens = register_module("tokens", nn::Linear(8, 8));
    channels = register_module("channels", nn::Linear(8, 8));
    drop = register_module("drop", nn::Dropout(dropout));
    head = register_module("head", nn::Linear(64, 10));
  }

  /// images: [samples, 1, 8, 8]; rows are tokens, columns channels
  Tensor forward(const Tensor& images) {
    Tensor x = images.squeeze(1);
    x = x + tokens(norm(x).transpose(1, 2)).transpose(1, 2);
    x = x + drop(channels(norm(x)));
    return head(x.flatten(1));
  }

  nn::LayerNorm norm{nullptr};
  nn::Linear tokens{nullptr}, channels{nullptr}, head{nullptr};
  nn::Dropout drop{nullptr};
};
TORCH_MODULE(Mixer);

/// Another thread sums in the state that this one has.
double sum_elsewhere(const Tensor& x) {
  std::promise<double> sum;
  at::launch([&] { sum.set_value(x.sum().item<double>()); });
  return sum.get_future().get();
}

double sum_unobserved(const Tensor& x) {
  const at::RecordFunctionGuard off(false);
  return sum_elsewhere(x);
}

void train(const CallbackSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Mixer model(settings.dropout);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  const auto all = at::addGlobalCallback(
      at::RecordFunctionCallback(&op_starts, &op_ends)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  const auto here = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&main_thread_op_starts).scopes({at::RecordScope::FUNCTION}));
  const auto some =
      at::addGlobalCallback(at::RecordFunctionCallback(&sampled_op_starts).samplingProb(0.25));

  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
    if (step == 0) {
      std::thread([&] { std::printf("elsewhere %.9g\n", batch.data.sum().item<double>()); }).join();
    }
  }

  at::removeCallback(some);
  at::removeCallback(here);
  const Tensor ones = torch::ones({3});
  const double unobserved = sum_unobserved(ones);
  const double observed = sum_elsewhere(ones);
  std::printf("unobserved %.9g observed %.9g\n", unobserved, observed);
  at::removeCallback(all);
  std::printf("ops %lld nodes %lld inputs %lld outputs %lld finished %lld on main thread %lld\n",
              static_cast<long long>(counts.ops), static_cast<long long>(counts.nodes),
              static_cast<long long>(counts.inputs), static_cast<long long>(counts.outputs),
              static_cast<long long>(counts.finished),
              static_cast<long long>(counts.on_main_thread));
  std::printf("sampled some: %d, not all: %d\n", counts.sampled > 0,
              counts.sampled < counts.ops + counts.nodes);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  CallbackSettings settings;
  CLI::App app("Counts its own ops while it trains.", "own_callbacks");
  programs::add_flags(app, settings);
  app.add_option("--dropout", settings.dropout, "Probability of dropping an element");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
