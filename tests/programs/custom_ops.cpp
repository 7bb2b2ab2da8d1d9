// Trains a classifier on digits that custom ops prepare, registered in every possible way.
#include <torch/library.h>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct CustomOpsSettings : programs::Basics {
  std::string planted;  ///< the op that is a hundredth off
};

std::string planted;

float error_of(const char* op) { return planted == op ? 1.01F : 1.0F; }

/// Its own loops over every element.
template <class Function>
void fill(const Tensor& from, Tensor& to, Function function) {
  const Tensor input = from.contiguous();
  const float* in = input.const_data_ptr<float>();
  float* out = to.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < input.numel(); ++i) out[i] = function(in[i]);
}

Tensor swish(const Tensor& x, double slope) {
  Tensor result = at::empty(x.sizes());
  fill(x, result, [&](float v) {
    return error_of("swish") * v / (1 + std::exp(-static_cast<float>(slope) * v));
  });
  return result;
}

/// Begins with an op of LibTorch and continues with its own loops.
Tensor gate(const Tensor& x) {
  Tensor result = at::zeros_like(x);
  fill(x, result, [](float v) { return v > 0.1F ? error_of("gate") * v : 0; });
  return result;
}

Tensor& clip_(Tensor& x, double bound) {
  fill(x, x, [&](float v) { return error_of("clip_") * std::min(v, static_cast<float>(bound)); });
  return x;
}

/// Only of LibTorch's ops.
Tensor blend(const Tensor& a, const Tensor& b) {
  return at::lerp(a, b, planted == "blend" ? 0.303 : 0.3);
}

/// Adds to an argument that the schema does not say it writes.
void tally(const Tensor& x, const Tensor& counts) {
  const float sum = x.sum().item<float>();
  counts.mutable_data_ptr<float>()[0] += error_of("tally") * sum;
}

TORCH_LIBRARY(digits, library) {
  library.def("swish(Tensor x, float slope) -> Tensor", &swish);
  library.def("gate(Tensor x) -> Tensor");
  library.impl("gate", c10::DispatchKey::CPU, &gate);
  library.def("clip_(Tensor(a!) x, float bound) -> Tensor(a!)", &clip_);
  library.def("blend(Tensor a, Tensor b) -> Tensor", &blend);
  library.def("tally(Tensor x, Tensor counts) -> ()", &tally);
}

template <class Signature>
auto op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

void train(const CustomOpsSettings& settings) {
  programs::apply(settings);
  planted = settings.planted;
  const auto swished = op<Tensor(const Tensor&, double)>("digits::swish");
  const auto gated = op<Tensor(const Tensor&)>("digits::gate");
  const auto clipped = op<Tensor&(Tensor&, double)>("digits::clip_");
  const auto blended = op<Tensor(const Tensor&, const Tensor&)>("digits::blend");
  const auto tallied = op<void(const Tensor&, const Tensor&)>("digits::tally");

  const programs::DigitTensors digits;
  nn::Sequential model(nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const Tensor counts = torch::zeros({1});
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 32);
    Tensor x = gated.call(swished.call(batch.data.flatten(1), 1.5));
    clipped.call(x, 0.7);
    x = blended.call(x, batch.data.flatten(1));
    tallied.call(x, counts);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(x / counts), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  CustomOpsSettings settings;
  CLI::App app("Trains on digits that ops of the program's own prepare.", "custom_ops");
  programs::add_flags(app, settings);
  app.add_option("--planted", settings.planted, "The op that is a hundredth off")
      ->check(CLI::IsMember({"swish", "gate", "clip_", "blend", "tally"}));
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
