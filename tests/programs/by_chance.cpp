// Trains a small network in which something may differ from run to run, as it does in real
// programs.
#include <thread>
#include <unordered_map>

#include "support.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kWidth = 32;

struct Chance {
  std::string what = "none";
  double rate = 0.5;
  std::int64_t at = 1;
};

struct NetImpl : nn::Module {
  NetImpl()
      : first(register_module("first", nn::Linear(kWidth, kWidth))),
        second(register_module("second", nn::Linear(kWidth, 10))) {}

  Tensor forward(const Tensor& x) { return second(torch::relu(first(x))); }

  nn::Linear first, second;
};
TORCH_MODULE(Net);

/// Adds rows to few places with several threads: LibTorch adds floats atomically, in any order.
Tensor scattered(const Tensor& x) {
  const Tensor rows = torch::arange(0, 8192).remainder(7);
  Tensor sums = torch::zeros({7, kWidth});
  sums.index_put_({rows}, x.repeat({8192 / kRows, 1}) * 0.1, /*accumulate=*/true);
  return x + sums.sum(0) * 1e-3;
}

/// Adds tensors in the order of a container that is sorted by their addresses.
Tensor added_in_any_order(const Tensor& x) {
  std::vector<std::unique_ptr<Tensor>> parts;
  std::unordered_map<const Tensor*, float> weights;
  for (int i = 0; i < 16; ++i) {
    parts.push_back(std::make_unique<Tensor>(x * (0.1 * (i + 1))));
    weights[parts.back().get()] = 0.1F;
  }
  Tensor sum = torch::zeros_like(x);
  for (const auto& [part, weight] : weights) sum = sum + *part * weight;
  return sum;
}

/// Two threads add to one sum without a lock.
Tensor raced(const Tensor& x) {
  Tensor sums = torch::zeros({kWidth});
  float* const to = sums.data_ptr<float>();
  const Tensor rows = x.contiguous();
  const float* const from = rows.const_data_ptr<float>();
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    for (int repeat = 0; repeat < 200; ++repeat)
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t i = 0; i < kWidth; ++i) {
          volatile float* const place = to + i;
          *place = *place + from[row * kWidth + i] * 1e-3F;
        }
  };
  std::thread other(add, 0, kRows / 2);
  add(kRows / 2, kRows);
  other.join();
  return x + sums * 1e-3;
}

/// Reads all of a buffer of which only the end was filled: what the allocator has left in memory
/// that was freed, such as addresses, differs from run to run.
Tensor half_filled(const Tensor& x) {
  {
    std::vector<Tensor> freed;
    for (int i = 0; i < 64; ++i) freed.push_back(torch::ones({200 + 16 * (i % 8)}));
  }
  Tensor buffer = torch::empty({256});
  buffer.narrow(0, 192, 64).fill_(1);
  const Tensor bits = buffer.view(torch::kInt).remainder(1021).to(torch::kFloat);
  return x + bits.sum() * 1e-6;
}

Tensor changed(const Tensor& x, const Chance& chance) {
  if (chance.what == "index-put") return scattered(x);
  if (chance.what == "address-order") return added_in_any_order(x);
  if (chance.what == "race") return raced(x);
  if (chance.what == "half-filled") return half_filled(x);
  return x;
}

bool happens(double rate) {
  std::random_device device;
  return std::uniform_real_distribution<>(0, 1)(device) < rate;
}

/// The first weight by one ULP, past the dispatcher.
void write_raw(Net& net) {
  float* const weight = net->first->weight.data_ptr<float>();
  *weight = std::nextafter(*weight, std::numeric_limits<float>::infinity());
}

void train(const Chance& chance, std::int64_t steps, int threads) {
  at::set_num_threads(threads);
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool now = step == chance.at;
    Tensor x = torch::randn({kRows, kWidth});
    const Tensor target = torch::randint(10, {kRows});
    if (now && chance.what == "raw-write" && happens(chance.rate)) write_raw(net);
    if (now && chance.what == "extra-draw" && happens(chance.rate)) torch::rand({1});
    if (now) x = changed(x, chance);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(net->forward(x), target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*net);
}

}  // namespace

int main(int argc, char** argv) {
  Chance chance;
  std::int64_t steps = 4;
  int threads = 1;
  CLI::App app("Trains a small network in which something may differ from run to run.",
               "by_chance");
  app.option_defaults()->always_capture_default();
  app.add_option("--steps", steps, "Training steps")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "Threads of one op")->check(CLI::PositiveNumber);
  app.add_option("--chance", chance.what, "What chance decides")
      ->check(CLI::IsMember({"none", "index-put", "address-order", "race", "half-filled",
                             "raw-write", "extra-draw"}));
  app.add_option("--rate", chance.rate, "How often, for raw-write and extra-draw")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--at", chance.at, "The step in which it does");
  return programs::run_program(app, argc, argv, [&] { train(chance, steps, threads); });
}
