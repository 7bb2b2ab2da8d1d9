// Trains a network of two branches on the digits, with a fault if a flag requests one.
#include <cstring>
#include <set>

#include "basics.hpp"

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

namespace {

struct Faults : programs::Basics {
  std::set<std::string> chosen;
  std::int64_t at = 1;
  bool augment = false;

  bool has(const std::string& fault) const { return chosen.contains(fault); }
};

/// What the program does at the step for which a fault is requested.
class Now {
 public:
  explicit Now(const Faults& faults) : faults_(faults) {}
  void begin(std::int64_t step) { step_ = step; }
  bool is(const std::string& fault) const { return step_ == faults_.at && faults_.has(fault); }
  bool always(const std::string& fault) const { return faults_.has(fault); }

 private:
  const Faults& faults_;
  std::int64_t step_ = -1;
};

void change_one(const Tensor& tensor) {
  float* const first = tensor.data_ptr<float>();
  *first = std::nextafter(*first, 1e30F);
}

Tensor rounded_to_bfloat16(const Tensor& x) { return x.to(torch::kBFloat16).to(torch::kFloat); }

struct BranchImpl : nn::Module {
  BranchImpl(std::int64_t width, const Now& now)
      : now_(now),
        fc1(register_module("fc1", nn::Linear(64, width))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})))),
        fc2(register_module("fc2", nn::Linear(width, width))) {}

  Tensor forward(const Tensor& x) {
    Tensor h = torch::tanh(norm(fc1(x)));
    if (now_.is("bfloat16 operands"))
      return F::linear(rounded_to_bfloat16(h), rounded_to_bfloat16(fc2->weight), fc2->bias);
    return fc2(h);
  }

  const Now& now_;
  nn::Linear fc1;
  nn::LayerNorm norm;
  nn::Linear fc2;
};
TORCH_MODULE(Branch);

struct TwoBranchesImpl : nn::Module {
  explicit TwoBranchesImpl(const Now& now)
      : now_(now),
        left(register_module("left", Branch(24, now))),
        right(register_module("right", Branch(24, now))),
        table(register_buffer("table", torch::linspace(0, 1, 48))),
        drop(register_module("drop", nn::Dropout(0.25))),
        head(register_module("head", nn::Sequential({{"hidden", nn::Linear(48, 24)},
                                                     {"out", nn::Linear(24, 10)}}))) {}

  Tensor forward(const Tensor& x) {
    Tensor a = left(x);
    Tensor b = right(x);
    if (now_.is("left activation")) change_one(a);
    if (now_.is("right activation")) change_one(b);
    Tensor both = torch::cat({a, b}, 1) + table;
    if (now_.is("mask forgotten")) return head->forward(both);
    both = drop(both);
    if (now_.is("extra relu")) both = torch::relu(both);
    if (now_.is("scaled")) both = both * 1.0001;
    if (now_.always("half filled")) {
      Tensor padded = torch::empty({both.size(0), 48});
      padded.slice(1, 0, 40).copy_(both.slice(1, 0, 40));
      both = padded;
    }
    return head->forward(both);
  }

  const Now& now_;
  Branch left, right;
  Tensor table;
  nn::Dropout drop;
  nn::Sequential head;
};
TORCH_MODULE(TwoBranches);

void train(const Faults& faults) {
  programs::apply(faults);
  Now now(faults);
  TwoBranches model(now);
  const programs::DigitTensors digits;
  auto noise = torch::make_generator<at::CPUGeneratorImpl>(now.always("noise seed") ? 8 : 7);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::optim::StepLR schedule(optimizer, 1, now.always("schedule") ? 0.9 : 1.0);
  std::vector<float> loader(32 * 64);  // filled again for every batch
  Tensor running = torch::zeros({10});
  if (now.always("transposed")) {
    torch::NoGradGuard no_grad;
    model->left->fc2->weight.copy_(model->left->fc2->weight.t().contiguous());
  }

  for (std::int64_t step = 0; step < faults.steps; ++step) {
    now.begin(step);
    const auto batch = digits.batch(step, 32);
    std::memcpy(loader.data(), batch.data.contiguous().data_ptr<float>(),
                loader.size() * sizeof(float));
    if (now.is("pixel")) loader[70] += 0.5F;
    Tensor x = torch::from_blob(loader.data(), {32, 64});
    if (now.is("draw")) (void)torch::randn({3});
    x = x + 0.01 * torch::randn(x.sizes(), noise);
    if (now.is("noise draw")) (void)torch::rand({1}, noise);
    if (now.is("generator")) x = x + 0 * torch::rand({1});
    optimizer.zero_grad();
    Tensor scores = model(x);
    if (now.is("input after forward")) change_one(x);
    Tensor loss = F::cross_entropy(scores, batch.target);
    if (now.is("log of zero")) loss = loss + 0 * torch::log(torch::zeros({}));
    if (now.is("double"))
      loss = F::cross_entropy(scores.to(torch::kDouble), batch.target).to(torch::kFloat);
    loss.backward();
    if (now.is("gradient")) change_one(model->right->fc1->weight.grad());
    if (now.is("gradient sign")) model->right->fc1->weight.mutable_grad().neg_();
    if (now.is("weight")) change_one(model->left->fc1->weight);
    if (now.is("weight set")) {
      torch::NoGradGuard no_grad;
      model->left->fc1->weight[0][0] = 0.5;
    }
    if (now.is("buffer")) change_one(model->table);
    if (!now.is("skipped step")) optimizer.step();
    schedule.step();
    if (now.is("momentum"))
      change_one(static_cast<torch::optim::SGDParamState&>(*optimizer.state().begin()->second)
                     .momentum_buffer());
    {
      torch::NoGradGuard no_grad;
      running.mul_(now.always("average") ? 0.8 : 0.9).add_(scores.mean(0), 0.1);
    }
    std::printf("step %lld loss %.9g running %.9g\n", static_cast<long long>(step),
                loss.item<double>(), running.sum().item<double>());
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  Faults faults;
  CLI::App app("Trains a network of two branches, with a fault where a flag asks for one.",
               "faults");
  programs::add_flags(app, faults);
  std::vector<std::string> chosen;
  app.add_option("--fault", chosen, "What goes wrong");
  app.add_option("--at", faults.at, "The step in which it does");
  return programs::run_program(app, argc, argv, [&] {
    faults.chosen = {chosen.begin(), chosen.end()};
    train(faults);
  });
}
