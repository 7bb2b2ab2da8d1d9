#include <ATen/record_function.h>
#include <torch/torch.h>

#include <stdexcept>

#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ThrowingImpl : torch::nn::Module {
  ThrowingImpl() : inner(register_module("inner", torch::nn::Linear(4, 4))) {}

  Tensor forward(const Tensor& x) {
    const Tensor y = inner(x);
    if (y.size(0) > 1) throw std::runtime_error("thrown inside a module's forward");
    return y;
  }

  torch::nn::Linear inner;
};
TORCH_MODULE(Throwing);

struct ThrowsInBackward : torch::autograd::Function<ThrowsInBackward> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    static_cast<void>(gradients[0] + 1);
    throw std::runtime_error("thrown inside a backward");
  }
};

struct ThrowsInForward : torch::autograd::Function<ThrowsInForward> {
  static Tensor forward(AutogradContext*, const Tensor& x) {
    static_cast<void>(x + 1);
    throw std::runtime_error("thrown inside a custom forward");
  }
  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    return gradients;
  }
};

template <class Body>
void caught(const char* where, Body body) {
  try {
    body();
    say("%s: nothing thrown", where);
  } catch (const std::exception& error) {
    const std::string_view what(error.what());
    const auto line = what.substr(0, what.find('\n'));
    say("%s: %.*s", where, static_cast<int>(line.size()), line.data());
  }
}

}  // namespace

void throw_from_module() {
  torch::manual_seed(2);
  Throwing model;
  for (const std::int64_t rows : {1, 3, 1}) {
    caught("module", [&] {
      const Tensor y = model(torch::full({rows, 4}, 0.5F));
      say("module gave %.9g", static_cast<double>(y.sum().item<float>()));
    });
    caught("op", [&] {
      static_cast<void>(torch::full({2, 3}, 1.0F).mm(torch::full({2, 3}, 1.0F)));
    });
  }
}

void throw_from_custom_function() {
  for (int i = 0; i < 3; ++i) {
    const Tensor x = torch::full({4}, 0.5F, torch::requires_grad());
    caught("custom forward", [&] { static_cast<void>(ThrowsInForward::apply(x)); });
    caught("custom backward", [&] { ThrowsInBackward::apply(x).sum().backward(); });
    caught("hook", [&] {
      const Tensor y = x * 3;
      y.register_hook(
          [](const Tensor&) -> Tensor { throw std::runtime_error("thrown in a hook"); });
      y.sum().backward();
    });
  }
}

void throw_from_callback() {
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        throw std::runtime_error("thrown inside a callback");
      }));
  caught("callback", [] { say("after a throwing callback %.9g", static_cast<double>(chain(5))); });
  at::removeCallback(handle);
}

}  // namespace faults
