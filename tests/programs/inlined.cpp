// Evaluates modules whose forwards an optimizing compiler inlines into their callers: many of one
// class in a loop, nested, with shared children, with forwards of their bases, and children that
// are called without their module.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

// Not optimized, each call has its own frame.
#ifdef __OPTIMIZE__
#define INLINED [[gnu::always_inline]]
#define NOT_INLINED [[gnu::noinline]]
#else
#define INLINED
#define NOT_INLINED
#endif

struct InlinedSettings : programs::Basics {
  bool nested = false;
};

namespace {

constexpr std::int64_t kWidth = 8;

struct HeadImpl : nn::Module {
  HeadImpl() { register_module("fc", fc); }

  INLINED Tensor forward(const Tensor& x) {
    const Tensor flat = x.flatten(1);
    return torch::log_softmax(fc(torch::tanh(flat)), 1);
  }

  nn::Linear fc{kWidth, kWidth};
};
TORCH_MODULE(Head);

/// Its calls follow each other without an op between them.
struct EnsembleImpl : nn::Module {
  explicit EnsembleImpl(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) heads->push_back(Head());
    register_module("heads", heads);
  }

  INLINED std::vector<Tensor> forward(const Tensor& x) {
    std::vector<Tensor> scores;
    for (const auto& head : *heads) scores.push_back(head->as<Head>()->forward(x));
    return scores;
  }

  nn::ModuleList heads;
};
TORCH_MODULE(Ensemble);

/// A tree of one class: the inner one's forward runs inside the outer one's.
struct NestImpl : nn::Module {
  explicit NestImpl(int depth) {
    register_module("fc", fc);
    if (depth > 0) inner = register_module("inner", std::make_shared<NestImpl>(depth - 1));
  }

  INLINED Tensor forward(const Tensor& x) {
    const Tensor y = torch::relu(fc(torch::sin(x)));
    return inner ? torch::cos(run_inner(y)) : y;
  }

  NOT_INLINED Tensor run_inner(const Tensor& x) { return inner->forward(x) * 2; }

  nn::Linear fc{kWidth, kWidth};
  std::shared_ptr<NestImpl> inner;
};
TORCH_MODULE(Nest);

/// Two of them share their only child, which has the first one's name.
struct SharingImpl : nn::Module {
  explicit SharingImpl(nn::Linear shared) : fc(register_module("fc", std::move(shared))) {}

  INLINED Tensor forward(const Tensor& x) { return torch::sigmoid(fc(torch::exp(x))); }

  nn::Linear fc;
};
TORCH_MODULE(Sharing);

struct PairImpl : nn::Module {
  PairImpl() {
    const nn::Linear shared(kWidth, kWidth);
    first = register_module("first", Sharing(shared));
    second = register_module("second", Sharing(shared));
  }

  INLINED Tensor forward(const Tensor& x) { return second->forward(first->forward(x)); }

  Sharing first{nullptr}, second{nullptr};
};
TORCH_MODULE(Pair);

/// The forward of two classes is in their base.
struct ActivatedImpl : nn::Module {
  ActivatedImpl() { register_module("norm", norm); }

  INLINED Tensor forward(const Tensor& x) {
    const auto twice = [&](const Tensor& y) { return norm(y.mul(2)); };
    return torch::softplus(twice(x.neg()));
  }

  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
};

struct WarmImpl : ActivatedImpl {};
struct ColdImpl : ActivatedImpl {};
TORCH_MODULE(Warm);
TORCH_MODULE(Cold);

/// Known to LibTorch as all modules here, so that their parameters have names.
template <class... Models>
void show(Models&... models) {
  (models->eval(), ...);
}

/// What a program does that calls children itself: the ops between them are of no module.
Tensor by_hand(EnsembleImpl& ensemble, const Tensor& x) {
  const Tensor first = ensemble.heads[0]->as<Head>()->fc(x.abs());
  return ensemble.heads[1]->as<Head>()->fc(torch::square(first)).erf();
}

}  // namespace

void evaluate(const InlinedSettings& settings) {
  programs::apply(settings);
  Ensemble ensemble(3);
  Nest nest(2), other_nest(1);
  Pair pair;
  Warm warm;
  Cold cold;
  show(ensemble, nest, other_nest, pair, warm, cold);

  struct LocalImpl : nn::Module {
    LocalImpl() { register_module("fc", fc); }
    INLINED Tensor forward(const Tensor& x) { return torch::relu(fc(x.clone())); }
    nn::Linear fc{kWidth, kWidth};
  };
  std::vector<std::shared_ptr<LocalImpl>> locals;
  for (int i = 0; i < 2; ++i) locals.push_back(std::make_shared<LocalImpl>());
  for (const auto& local : locals) local->eval();

  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor x = torch::randn({4, kWidth});
    std::vector<Tensor> results = ensemble->forward(x);
    if (settings.nested)
      for (Nest& each : {std::ref(nest), std::ref(other_nest)}) results.push_back(each->forward(x));
    results.push_back(pair->forward(x));
    results.push_back(warm->forward(x));
    results.push_back(cold->forward(x));
    for (const auto& local : locals) results.push_back(local->forward(x));
    results.push_back(by_hand(*ensemble, x));
    programs::print_step(step, torch::stack(results).sum());
  }
}

int main(int argc, char** argv) {
  InlinedSettings settings;
  CLI::App app("Evaluates modules whose forwards are inlined.", "inlined");
  programs::add_flags(app, settings);
  app.add_flag("--nested", settings.nested, "Run modules inside others of their class too");
  return programs::run_program(app, argc, argv, [&] { evaluate(settings); });
}
