#include "training.hpp"

#include <torch/torch.h>

#include <cinttypes>
#include <cstring>

#include "progress.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace faults {
namespace {

struct ModelImpl : nn::Module {
  ModelImpl()
      : first(register_module("first", nn::Linear(16, 16))),
        second(register_module("second", nn::Linear(16, 4))) {}

  Tensor forward(const Tensor& x) { return second(torch::tanh(first(x))); }

  nn::Linear first, second;
};
TORCH_MODULE(Model);

}  // namespace

float marked_op(float value) {
  const float result = torch::digamma(torch::full({4}, value)).sum().item<float>();
  progress().ops.fetch_add(1);
  return result;
}

struct Training::State {
  Model model;
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)};
  std::int64_t step = 0;
};

Training::Training() {
  at::set_num_threads(1);
  torch::manual_seed(1);
  state_ = std::make_unique<State>();
}

Training::~Training() = default;

void Training::step() {
  State& state = *state_;
  const Tensor numbers = torch::arange(8 * 16, torch::kFloat).add(state.step).sin();
  state.optimizer.zero_grad();
  const Tensor loss =
      state.model->forward(numbers.view({8, 16})).square().mean() + 1e-3 * marked_op(1.5F);
  loss.backward();
  state.optimizer.step();
  say("step %" PRId64 " %.9g", state.step, static_cast<double>(loss.item<float>()));
  ++state.step;
  progress().steps.fetch_add(1);
}

void Training::steps(int count) {
  for (int i = 0; i < count; ++i) step();
}

std::string Training::digest() const {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const Tensor& parameter : state_->model->parameters()) {
    const Tensor bytes = parameter.detach().contiguous();
    const auto* data = static_cast<const unsigned char*>(bytes.const_data_ptr());
    for (std::size_t i = 0; i < bytes.nbytes(); ++i) digest = (digest ^ data[i]) * 0x100000001b3;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%016" PRIx64, digest);
  return text;
}

float chain(int count, float start) {
  float value = start;
  for (int i = 0; i < count; ++i) value = 1.5F + 0.01F * marked_op(value);
  return value;
}

void tiny_ops(long count) {
  const torch::NoGradGuard no_grad;
  Tensor value = torch::full({2}, 1.0F);
  for (long i = 0; i < count; ++i) value = value.mul(0.5F);
  say("tiny ops left %.9g", static_cast<double>(value.sum().item<float>()));
}

}  // namespace faults
