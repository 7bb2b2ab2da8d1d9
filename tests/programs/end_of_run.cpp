// Trains a perceptron with a buffer and keeps a moving average of its weights, then changes what it
// leaves after the last step. Prints a digest of everything that it leaves, read through pointers,
// not by ops.
#include <ATen/CPUGeneratorImpl.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct EndSettings : programs::Basics {
  std::string end = "none";
  bool exits = false;
  bool quits = false;
};

class ModelImpl : public nn::Module {
 public:
  ModelImpl() {
    register_module("hidden", hidden_);
    register_module("head", head_);
    register_buffer("seen", seen_);
  }

  Tensor forward(const Tensor& images) {
    {
      const torch::NoGradGuard no_grad;
      seen_.add_(static_cast<double>(images.size(0)));
    }
    return head_(torch::gelu(hidden_(images.flatten(1))));
  }

 private:
  nn::Linear hidden_{64, 32};
  nn::Linear head_{32, 10};
  Tensor seen_ = torch::zeros({1});
};
TORCH_MODULE(Model);

/// What is live when the run is over.
struct Left {
  Model model;
  std::vector<Tensor> average;
  Tensor held;
  Tensor leaf;      ///< requires gradients and belongs to no module
  Tensor loaded;    ///< its memory was filled from an archive
  Tensor unread;    ///< likewise, and no op reads it
  Tensor output;    ///< freed before the end; no op reads it
  Tensor distance;  ///< a number in memory that is larger: its op allocates as much as it adds up
  torch::optim::SGD* optimizer = nullptr;
  at::Generator first = at::make_generator<at::CPUGeneratorImpl>(4);
  at::Generator second = at::make_generator<at::CPUGeneratorImpl>(5);
};

float* bytes_of(const Tensor& tensor) { return static_cast<float*>(tensor.data_ptr()); }

const Tensor& momentum_of(const torch::optim::SGD& optimizer, const Tensor& weight) {
  const auto& state = *optimizer.state().at(weight.unsafeGetTensorImpl());
  return static_cast<const torch::optim::SGDParamState&>(state).momentum_buffer();
}

Tensor through_archive(const Tensor& tensor) {
  std::stringstream archive;
  torch::save(tensor, archive);
  Tensor loaded;
  torch::load(loaded, archive);
  return loaded;
}

at::mt19937_data_pod state_of(const at::Generator& generator) {
  return at::check_generator<at::CPUGeneratorImpl>(generator)->engine().data();
}

/// @param lr of its next step
void save(torch::optim::SGD& optimizer, double lr) {
  optimizer.param_groups().front().options().set_lr(lr);
  std::stringstream archive;
  torch::save(optimizer, archive);
}

void save_epoch(std::int64_t epoch) {
  torch::serialize::OutputArchive archive;
  archive.write("epoch", c10::IValue(epoch));
  std::stringstream stream;
  archive.save_to(stream);
}

/// Saves an optimizer that has been loaded, whose state is in the order of addresses.
void save_loaded(torch::optim::SGD& optimizer) {
  for (int time = 0; time < 2; ++time) {
    std::stringstream archive;
    torch::save(optimizer, archive);
    torch::load(optimizer, archive);
  }
}

/// Saves an optimizer whose parameters keep their momenta, or each other's.
void save_momenta(bool exchanged) {
  const torch::AutoGradMode with_grad(true);
  torch::nn::Sequential model(torch::nn::Linear(4, 4), torch::nn::Linear(4, 4));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  model->forward(torch::ones({2, 4})).sum().backward();
  optimizer.step();
  const auto momentum = [&](std::size_t parameter) -> torch::optim::SGDParamState& {
    auto& state = *optimizer.state().at(model->parameters()[parameter].unsafeGetTensorImpl());
    return static_cast<torch::optim::SGDParamState&>(state);
  };
  const Tensor first = momentum(0).momentum_buffer();
  if (exchanged) {
    momentum(0).momentum_buffer(momentum(2).momentum_buffer());
    momentum(2).momentum_buffer(first);
  }
  std::stringstream archive;
  torch::save(optimizer, archive);
}

/// Saves two tensors under two names, or under each other's: of two files, or of two keys of one.
void save_two(const Tensor& tensor, bool keys, bool exchanged) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("end_of_run-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  torch::serialize::OutputArchive archive;
  int scale = 1;
  for (const std::string name : {exchanged ? "second" : "first", exchanged ? "first" : "second"}) {
    const Tensor saved = tensor * scale++;
    if (keys)
      archive.write(name, saved);
    else
      torch::save(saved, (folder / (name + ".pt")).string());
  }
  if (keys) archive.save_to((folder / "both.pt").string());
  std::filesystem::remove_all(folder);
}

using End = std::function<void(Left&)>;

const std::map<std::string, End>& ends() {
  static const std::map<std::string, End> all{
      {"none", [](Left&) {}},
      {"clamp",
       [](Left& left) {
         for (Tensor& weight : left.model->parameters()) weight.clamp_(-0.05, 0.05);
       }},
      {"scale",
       [](Left& left) {
         for (Tensor& weight : left.model->parameters()) weight.mul_(0.5);
       }},
      {"average",
       [](Left& left) {
         auto weights = left.model->parameters();
         for (std::size_t i = 0; i < weights.size(); ++i) weights[i].copy_(left.average[i]);
       }},
      {"set_data",
       [](Left& left) {
         for (Tensor& weight : left.model->parameters()) weight.set_data(weight * 2);
       }},
      {"raw", [](Left& left) { bytes_of(left.model->parameters().front())[3] += 1; }},
      {"raw-buffer", [](Left& left) { bytes_of(left.model->buffers().front())[0] += 1; }},
      {"raw-set_data",
       [](Left& left) {
         Tensor weight = left.model->parameters().front();
         weight.set_data(weight.detach().clone());
         bytes_of(weight)[3] += 1;
       }},
      {"raw-state",
       [](Left& left) {
         bytes_of(momentum_of(*left.optimizer, left.model->parameters().front()))[3] += 1;
       }},
      {"raw-leaf", [](Left& left) { bytes_of(left.leaf)[0] += 1; }},
      {"raw-loaded", [](Left& left) { bytes_of(left.loaded)[2] += 1; }},
      {"raw-output", [](Left& left) { bytes_of(left.output)[2] += 1; }},
      {"raw-unread", [](Left& left) { bytes_of(left.unread)[2] += 1; }},
      {"buffer", [](Left& left) { left.model->buffers().front().add_(1); }},
      {"gradient", [](Left& left) { left.model->parameters().front().mutable_grad().mul_(2); }},
      {"held", [](Left& left) { left.held.add_(1); }},
      {"rebound", [](Left& left) { left.held = left.held * 1.0001; }},
      {"draw", [](Left&) { torch::rand({3}); }},
      {"seed", [](Left& left) { left.second.set_current_seed(77); }},
      {"set-state", [](Left& left) { left.second.set_state(left.first.get_state()); }},
      {"raw-draw",
       [](Left& left) { at::check_generator<at::CPUGeneratorImpl>(left.second)->random(); }},
      {"saved", [](Left& left) { save(*left.optimizer, 0.1); }},
      {"saved-lr", [](Left& left) { save(*left.optimizer, 0.05); }},
      {"saved-epoch-3", [](Left&) { save_epoch(3); }},
      {"saved-epoch-4", [](Left&) { save_epoch(4); }},
      {"saved-at-last",
       [](Left& left) {
         save(*left.optimizer, 0.05);
         save(*left.optimizer, 0.1);
       }},
      {"saved-loaded", [](Left& left) { save_loaded(*left.optimizer); }},
      {"saved-momenta", [](Left&) { save_momenta(false); }},
      {"saved-momenta-exchanged", [](Left&) { save_momenta(true); }},
      {"saved-files", [](Left& left) { save_two(left.average[0], false, false); }},
      {"saved-files-exchanged", [](Left& left) { save_two(left.average[0], false, true); }},
      {"saved-keys", [](Left& left) { save_two(left.average[0], true, false); }},
      {"saved-keys-exchanged", [](Left& left) { save_two(left.average[0], true, true); }},
      // These leave the same.
      {"unused", [](Left& left) { static_cast<void>((left.held * 3).item<float>()); }},
      {"one", [](Left& left) { left.held.mul_(1.0); }},
      {"twice", [](Left& left) { left.held.neg_().neg_(); }},
      {"copied", [](Left& left) { left.held = left.held.clone(); }},
      {"restored",
       [](Left& left) {
         const Tensor state = left.second.get_state();
         left.second.set_current_seed(77);
         left.second.set_state(state);
       }},
  };
  return all;
}

std::uint64_t raw_digest(std::uint64_t digest, const Tensor& tensor) {
  const auto* byte = static_cast<const unsigned char*>(tensor.data_ptr());
  for (std::size_t i = 0; i < tensor.nbytes(); ++i)
    digest = (digest ^ byte[i]) * std::uint64_t{0x100000001b3};
  return digest;
}

void train(const EndSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Left left{Model(),
            {},
            torch::zeros({1}),
            torch::ones({4}, torch::requires_grad()),
            through_archive(torch::ones({16})),
            through_archive(torch::ones({16})),
            {},
            {}};
  torch::optim::SGD optimizer(left.model->parameters(),
                              torch::optim::SGDOptions(0.1).momentum(0.9));
  left.optimizer = &optimizer;
  for (const Tensor& weight : left.model->parameters())
    left.average.push_back(weight.detach().clone());
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 16);
    optimizer.zero_grad();
    Tensor loss = torch::cross_entropy_loss(left.model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    const torch::NoGradGuard no_grad;
    const auto weights = left.model->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i)
      left.average[i].mul_(0.9).add_(weights[i], 0.1);
    left.held = loss.detach() * left.leaf.sum() + left.loaded.sum();
    left.held += torch::rand({}, left.first) * torch::rand({}, left.second);
    left.distance = torch::mse_loss(weights[1], left.average[1]);
  }
  {
    const torch::NoGradGuard no_grad;
    left.output = left.model->forward(digits.batch(0, 1).data).squeeze(0);
    ends().at(settings.end)(left);
  }
  std::uint64_t digest = raw_digest(0xcbf29ce484222325, left.output);
  left.output.reset();
  for (const Tensor& weight : left.model->parameters()) {
    digest = raw_digest(digest, weight);
    digest = raw_digest(digest, weight.grad());
    digest = raw_digest(digest, momentum_of(optimizer, weight));
  }
  for (const Tensor& buffer : left.model->buffers()) digest = raw_digest(digest, buffer);
  for (const Tensor& average : left.average) digest = raw_digest(digest, average);
  const double lr = optimizer.param_groups().front().options().get_lr();
  digest = (digest ^ std::bit_cast<std::uint64_t>(lr)) * std::uint64_t{0x100000001b3};
  digest = raw_digest(digest, left.held);
  digest = raw_digest(digest, left.leaf);
  digest = raw_digest(digest, left.loaded);
  digest = raw_digest(digest, left.unread);
  for (const at::Generator& generator :
       {at::detail::getDefaultCPUGenerator(), left.first, left.second}) {
    const at::mt19937_data_pod state = state_of(generator);
    digest = (digest ^ state.next_) * std::uint64_t{0x100000001b3};
    digest = (digest ^ state.state_[0]) * std::uint64_t{0x100000001b3};
  }
  std::printf("leaves\nfinal digest %016llx\n", static_cast<unsigned long long>(digest));
  std::fflush(stdout);
  if (settings.exits) std::exit(0);
  if (settings.quits) std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  EndSettings settings;
  CLI::App app("Trains a perceptron and changes what it leaves.", "end_of_run");
  programs::add_flags(app, settings);
  std::vector<std::string> names;
  for (const auto& [name, end] : ends()) names.push_back(name);
  app.add_option("--end", settings.end, "What happens after the last step")
      ->check(CLI::IsMember(names));
  app.add_flag("--exit", settings.exits, "End by exit(), with everything alive");
  app.add_flag("--quit", settings.quits, "End by _Exit()");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
