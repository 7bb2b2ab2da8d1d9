// Threads that train: separate models at the same time, or one model by each thread in turn. Prints
// a digest of what each of them leaves, in their order.
#include <ATen/Parallel.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct TrainerSettings : programs::Basics {
  std::string mode = "parallel";
  int trainers = 4;
  bool own_seeds = false;
  int scaled = -1;
  int scale_step = 0;
  unsigned delays = 0;
  bool reversed = false;
};

class ModelImpl : public nn::Module {
 public:
  ModelImpl() {
    register_module("hidden", hidden_);
    register_module("head", head_);
  }
  Tensor forward(const Tensor& images) { return head_(torch::relu(hidden_(images.flatten(1)))); }

 private:
  nn::Linear hidden_{64, 16};
  nn::Linear head_{16, 10};
};
TORCH_MODULE(Model);

const auto kOptions = torch::optim::SGDOptions(0.1).momentum(0.9);

/// Threads share LibTorch's generator: one of them has it at a time, and sets its seed.
Model make_model(std::uint64_t seed) {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  torch::manual_seed(seed);
  return {};
}

/// One model and what is needed to train it.
struct Trainer {
  Trainer(const TrainerSettings& all, const programs::DigitTensors& digits, int number)
      : settings(all),
        data(digits),
        index(number),
        model(make_model(all.seed + (all.own_seeds ? static_cast<std::uint64_t>(number) : 0))) {}

  void step(std::int64_t number) { step(number, optimizer); }

  void step(std::int64_t number, torch::optim::SGD& by) {
    if (settings.delays != 0)
      ::usleep((settings.delays * 2654435761U + static_cast<unsigned>(index * 7919 + number)) %
               3000);
    if (index == settings.scaled && number == settings.scale_step) {
      const torch::NoGradGuard no_grad;
      model->parameters().front().mul_(1.0001);
    }
    const auto batch = data.batch(number + (settings.own_seeds ? index : 0), 16);
    by.zero_grad();
    torch::cross_entropy_loss(model->forward(batch.data), batch.target).backward();
    by.step();
  }

  void train() {
    for (std::int64_t number = 0; number < settings.steps; ++number) step(number);
  }

  const TrainerSettings& settings;
  const programs::DigitTensors& data;
  int index;
  Model model;
  torch::optim::SGD optimizer{model->parameters(), kOptions};
};

using Trainers = std::vector<std::unique_ptr<Trainer>>;

/// Each in a separate thread, which also makes its model.
void in_parallel(const TrainerSettings& settings, const programs::DigitTensors& data,
                 Trainers& trainers) {
  std::vector<std::thread> threads;
  for (int i = 0; i < settings.trainers; ++i)
    threads.emplace_back([&, i] {
      if (settings.delays != 0) ::usleep((settings.delays * 40503U + i * 977U) % 5000);
      trainers[i] = std::make_unique<Trainer>(settings, data, i);
      trainers[i]->train();
    });
  for (auto& thread : threads) thread.join();
}

[[gnu::noinline]] std::thread start_first(const std::function<void(int)>& train) {
  return std::thread([&train] { train(0); });
}

[[gnu::noinline]] std::thread start_second(const std::function<void(int)>& train) {
  return std::thread([&train] { train(1); });
}

/// Two trainers, each in a thread that a function of its own creates.
void in_two_places(const TrainerSettings& settings, const programs::DigitTensors& data,
                   Trainers& trainers) {
  trainers.resize(2);
  const std::function<void(int)> train = [&](int i) {
    const auto number = static_cast<std::size_t>(i);
    trainers[number] = std::make_unique<Trainer>(settings, data, i);
    trainers[number]->train();
  };
  std::thread first = settings.reversed ? start_second(train) : start_first(train);
  std::thread second = settings.reversed ? start_first(train) : start_second(train);
  first.join();
  second.join();
}

void make_all(const TrainerSettings& settings, const programs::DigitTensors& data,
              Trainers& trainers) {
  for (int i = 0; i < settings.trainers; ++i)
    trainers[i] = std::make_unique<Trainer>(settings, data, i);
}

/// Threads that take trainers from a queue.
void by_pool(const TrainerSettings& settings, const programs::DigitTensors& data,
             Trainers& trainers) {
  make_all(settings, data, trainers);
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      if (settings.delays != 0) ::usleep((settings.delays * 40503U + t * 977U) % 5000);
      for (int i = next++; i < settings.trainers; i = next++) trainers[i]->train();
    });
  for (auto& thread : threads) thread.join();
}

/// One model, every step in a new thread.
void step_by_step(const TrainerSettings& settings, const programs::DigitTensors& data,
                  Trainers& trainers) {
  trainers.resize(1);
  trainers[0] = std::make_unique<Trainer>(settings, data, 0);
  for (std::int64_t number = 0; number < settings.steps; ++number)
    std::thread([&] { trainers[0]->step(number); }).join();
}

/// Each with another optimizer, which is where that of the last but one was.
void one_after_another(const TrainerSettings& settings, const programs::DigitTensors& data,
                       Trainers& trainers) {
  make_all(settings, data, trainers);
  std::array<std::optional<torch::optim::SGD>, 2> places;
  for (std::size_t i = 0; i < trainers.size(); ++i) {
    Trainer& trainer = *trainers[i];
    auto& optimizer = places[i % places.size()].emplace(trainer.model->parameters(), kOptions);
    for (std::int64_t number = 0; number < settings.steps; ++number)
      trainer.step(number, optimizer);
  }
}

/// The main thread, a thread that it waits for, and the main thread again.
void in_turn(const TrainerSettings& settings, const programs::DigitTensors& data,
             Trainers& trainers) {
  trainers.resize(1);
  trainers[0] = std::make_unique<Trainer>(settings, data, 0);
  const std::int64_t third = std::max<std::int64_t>(settings.steps / 3, 1);
  const auto some = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t number = first; number < end; ++number) trainers[0]->step(number);
  };
  some(0, third);
  std::thread([&] { some(third, 2 * third); }).join();
  some(2 * third, settings.steps);
}

void with_parallel_for(const TrainerSettings& settings, const programs::DigitTensors& data,
                       Trainers& trainers) {
  make_all(settings, data, trainers);
  at::set_num_threads(2);
  at::parallel_for(0, settings.trainers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) trainers[static_cast<std::size_t>(i)]->train();
  });
}

void with_launch(const TrainerSettings& settings, const programs::DigitTensors& data,
                 Trainers& trainers) {
  make_all(settings, data, trainers);
  std::atomic<int> done{0};
  for (int i = 0; i < settings.trainers; ++i)
    at::launch([&, i] {
      trainers[i]->train();
      ++done;
    });
  while (done != settings.trainers) ::usleep(200);
}

using Mode = void (*)(const TrainerSettings&, const programs::DigitTensors&, Trainers&);

const std::map<std::string, Mode>& modes() {
  static const std::map<std::string, Mode> all{
      {"parallel", in_parallel},           {"pool", by_pool},
      {"step-by-step", step_by_step},      {"in-turn", in_turn},
      {"parallel-for", with_parallel_for}, {"launch", with_launch},
      {"two-places", in_two_places},       {"successive", one_after_another},
  };
  return all;
}

void train(const TrainerSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors data;
  Trainers trainers(static_cast<std::size_t>(settings.trainers));
  modes().at(settings.mode)(settings, data, trainers);
  torch::manual_seed(settings.seed);
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const auto& trainer : trainers)
    for (const Tensor& weight : trainer->model->parameters()) {
      const auto* byte = static_cast<const unsigned char*>(weight.data_ptr());
      for (std::size_t i = 0; i < weight.nbytes(); ++i)
        digest = (digest ^ byte[i]) * std::uint64_t{0x100000001b3};
    }
  std::printf("leaves\nfinal digest %016llx\n", static_cast<unsigned long long>(digest));
}

}  // namespace

int main(int argc, char** argv) {
  TrainerSettings settings;
  CLI::App app("Trains models in several threads.", "trainers");
  programs::add_flags(app, settings);
  std::vector<std::string> names;
  for (const auto& [name, mode] : modes()) names.push_back(name);
  app.add_option("--mode", settings.mode, "Which threads train what")->check(CLI::IsMember(names));
  app.add_option("--trainers", settings.trainers, "Models")->check(CLI::Range(1, 16));
  app.add_flag("--own-seeds", settings.own_seeds, "Give every model a seed and data of its own");
  app.add_option("--scale", settings.scaled, "Multiply a weight of this model by 1.0001");
  app.add_option("--scale-step", settings.scale_step, "before this step");
  app.add_option("--delays", settings.delays, "Wait at places that this number picks");
  app.add_flag("--reversed", settings.reversed, "Create the second thread first (two-places)");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
