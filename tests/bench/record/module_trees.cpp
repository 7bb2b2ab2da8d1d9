// Trains trees of many small modules: flat, nested in one another, or wide and deep.

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace {

namespace nn = torch::nn;
using at::Tensor;

constexpr std::int64_t kWidth = 4;

/// A module as programs write them: a LibTorch layer and code around it.
struct OwnLayerImpl : nn::Module {
  OwnLayerImpl() : linear(register_module("linear", nn::Linear(kWidth, kWidth))) {}
  Tensor forward(const Tensor& x) { return torch::tanh(linear(x)) + x; }
  nn::Linear linear;
};
TORCH_MODULE(OwnLayer);

struct OwnFlatImpl : nn::Module {
  explicit OwnFlatImpl(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) layers->push_back(OwnLayer());
    register_module("layers", layers);
  }
  Tensor forward(Tensor x) {
    for (const auto& layer : *layers) x = layer->as<OwnLayerImpl>()->forward(x);
    return x;
  }
  nn::ModuleList layers;
};
TORCH_MODULE(OwnFlat);

/// Each holds the next one and calls it inside its own forward.
struct OwnNestedImpl : nn::Module {
  explicit OwnNestedImpl(std::int64_t count) {
    linear = register_module("linear", nn::Linear(kWidth, kWidth));
    if (count > 1) inner = register_module("inner", std::make_shared<OwnNestedImpl>(count - 1));
  }
  Tensor forward(const Tensor& x) {  // NOLINT(misc-no-recursion): that is its purpose
    const Tensor y = torch::tanh(linear(x)) + x;
    return inner ? inner->forward(y) + x : y;
  }
  nn::Linear linear{nullptr};
  std::shared_ptr<OwnNestedImpl> inner;
};
TORCH_MODULE(OwnNested);

/// Ten branches at each level, layers at the leaves.
struct OwnTreeImpl : nn::Module {
  explicit OwnTreeImpl(std::int64_t count) {
    for (std::int64_t i = 0; i < 10 && i < count; ++i) {
      const std::int64_t share = count / 10;
      if (share > 1)
        branches->push_back(std::make_shared<OwnTreeImpl>(share));
      else
        branches->push_back(OwnLayer());
    }
    register_module("branches", branches);
  }
  Tensor forward(Tensor x) {  // NOLINT(misc-no-recursion)
    for (const auto& branch : *branches) {
      if (auto* tree = branch->as<OwnTreeImpl>())
        x = tree->forward(x);
      else
        x = branch->as<OwnLayerImpl>()->forward(x);
    }
    return x;
  }
  nn::ModuleList branches;
};
TORCH_MODULE(OwnTree);

/// LibTorch's Sequential calls no other one: a program puts a class around each.
struct StageImpl : nn::Module {
  explicit StageImpl(nn::Sequential held) : layers(register_module("layers", std::move(held))) {}
  Tensor forward(const Tensor& x) { return layers->forward(x); }
  nn::Sequential layers;
};
TORCH_MODULE(Stage);

nn::Sequential flat(std::int64_t count) {
  nn::Sequential all;
  for (std::int64_t i = 0; i < count; ++i) all->push_back(nn::Linear(kWidth, kWidth));
  return all;
}

nn::Sequential nested(std::int64_t count) {
  nn::Sequential outer(nn::Linear(kWidth, kWidth));
  for (std::int64_t i = 1; i < count; ++i)
    outer = nn::Sequential(nn::Linear(kWidth, kWidth), Stage(outer));
  return outer;
}

nn::Sequential tree(std::int64_t count) {  // NOLINT(misc-no-recursion)
  if (count <= 10) return flat(count);
  nn::Sequential all;
  for (int i = 0; i < 10; ++i) all->push_back(Stage(tree(count / 10)));
  return all;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Model>
void train(Model model, std::int64_t steps) {
  torch::optim::SGD optimizer(model->parameters(), 1e-3);
  const Tensor x = torch::randn({2, kWidth});
  const Tensor wanted = torch::randn({2, kWidth});
  double first = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == 1) first = seconds();
    optimizer.zero_grad();
    const Tensor loss = torch::mse_loss(model->forward(x), wanted);
    loss.backward();
    optimizer.step();
    std::printf("step %ld loss %.9g\n", static_cast<long>(step), loss.template item<double>());
    std::fflush(stdout);
  }
  if (steps > 1)
    std::printf("%.3f ms a step after the first\n",
                (seconds() - first) * 1e3 / static_cast<double>(steps - 1));
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t modules = 1000;
  std::int64_t steps = 4;
  std::string shape = "flat";
  bool own = false;
  CLI::App app("Trains a tree of many small modules");
  app.add_option("--modules", modules, "How many layers")->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "Training steps")->check(CLI::PositiveNumber);
  app.add_option("--shape", shape)->check(CLI::IsMember({"flat", "nested", "tree"}));
  app.add_flag("--own", own, "Classes of the program's own in the place of Sequential");
  CLI11_PARSE(app, argc, argv);
  torch::manual_seed(1);
  at::set_num_threads(1);
  if (shape == "flat")
    own ? train(OwnFlat(modules), steps) : train(flat(modules), steps);
  else if (shape == "nested")
    own ? train(OwnNested(modules), steps) : train(nested(modules), steps);
  else
    own ? train(OwnTree(modules), steps) : train(tree(modules), steps);
  return 0;
}
