#pragma once

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What the training programs share: their flags, the digits, the differences that a flag can make
/// between two runs, and the digest of the trained model.
namespace programs {

/// The step of a flag that was not passed.
inline constexpr std::int64_t kNever = -1;

/// The flags that all programs have.
struct Settings {
  std::int64_t steps = 4;
  std::int64_t batch = 32;
  std::int64_t width = 16;
  std::int64_t layers = 2;
  std::int64_t validate = 0;
  double lr = 0.05;
  double eps = 1e-5;
  double dropout = 0.1;
  std::string data = DIGITS_CSV;
  std::string load_weights, save;

  int threads = 1;
  std::size_t workers = 0;
  std::uint64_t seed = 1;
  std::uint64_t sampler_seed = 1;
  bool augment = false;
  bool eval = false;
  bool mkldnn = true;
  bool flush_denormal = false;
  bool deterministic = false;

  std::int64_t extra_draw = kNever;
  std::int64_t swap_samples = kNever;
  std::int64_t raw_write = kNever;
  std::int64_t poke_activation = kNever;
  bool refactored_linear = false;
  bool unused_layer = false;
  bool order_of_modules = false;
  bool empty_half = false;
  bool empty_overwritten = false;
};

/// Adds the flags to `app`; the values in `settings` are the defaults.
inline void add_flags(CLI::App& app, Settings& settings) {
  auto& s = settings;
  app.option_defaults()->always_capture_default();
  app.add_option("--steps", s.steps, "Training steps")->check(CLI::PositiveNumber);
  app.add_option("--batch", s.batch, "Samples in a batch")->check(CLI::Range(2, 1797));
  app.add_option("--width", s.width, "Width of the model")->check(CLI::PositiveNumber);
  app.add_option("--layers", s.layers, "Depth of the model")->check(CLI::PositiveNumber);
  app.add_option("--validate", s.validate, "Classify this many samples after training");
  app.add_option("--lr", s.lr, "Learning rate");
  app.add_option("--eps", s.eps, "Epsilon of the normalisation layers");
  app.add_option("--dropout", s.dropout, "Probability of dropping an element");
  app.add_option("--data", s.data, "The digits, as CSV")->check(CLI::ExistingFile);
  app.add_option("--load-weights", s.load_weights, "Start from the model in this file")
      ->check(CLI::ExistingFile);
  app.add_option("--save", s.save, "Write the trained model to this file");

  app.add_option("--threads", s.threads, "Threads of one op")->check(CLI::PositiveNumber);
  app.add_option("--workers", s.workers, "Threads that load batches");
  app.add_option("--seed", s.seed, "Seed of LibTorch's generator");
  app.add_option("--sampler-seed", s.sampler_seed, "Seed of the order of samples");
  app.add_flag("--augment", s.augment, "Shift images at random");
  app.add_flag("--eval", s.eval, "Train with the model in eval mode");
  app.add_option("--mkldnn", s.mkldnn, "Whether oneDNN may be used");
  app.add_flag("--flush-denormal", s.flush_denormal, "Treat denormal numbers as zero");
  app.add_flag("--deterministic", s.deterministic, "Deterministic algorithms only");

  app.add_option("--extra-draw", s.extra_draw, "Draw one more random number in this step");
  app.add_option("--swap-samples", s.swap_samples, "Swap two samples of this step's batch");
  app.add_option("--raw-write", s.raw_write, "Change a weight by one ULP before this step");
  app.add_option("--poke-activation", s.poke_activation,
                 "Change an activation by one ULP in this step");
  app.add_flag("--refactored-linear", s.refactored_linear, "Write the last layer as matmul + add");
  app.add_flag("--unused-layer", s.unused_layer, "Construct a layer that nothing uses");
  app.add_flag("--order-of-modules", s.order_of_modules, "Construct the last layer first");
  app.add_flag("--empty-half", s.empty_half, "Feed the last layer from a half-filled buffer");
  app.add_flag("--empty-overwritten", s.empty_overwritten,
               "Feed the last layer from a buffer filled after its creation");
}

/// Makes the process-wide settings; comes before anything that draws random numbers.
inline void apply(const Settings& settings) {
  at::set_num_threads(settings.threads);
  at::globalContext().setUserEnabledMkldnn(settings.mkldnn);
  at::globalContext().setDeterministicAlgorithms(settings.deterministic, /*warn_only=*/false);
  at::globalContext().setFlushDenormal(settings.flush_denormal);
  torch::manual_seed(settings.seed);
}

/// One image of 8x8 pixels from 0 to 16, and what it shows.
struct Digit {
  std::array<float, 64> pixels{};
  std::int64_t label = 0;
};

inline std::vector<Digit> read_digits(const std::string& path) {
  std::ifstream file(path);
  std::vector<Digit> digits;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Digit digit;
    char comma = 0;
    for (float& pixel : digit.pixels) fields >> pixel >> comma;
    if (!(fields >> digit.label)) throw std::runtime_error(path + " is not the digits CSV");
    digits.push_back(digit);
  }
  if (digits.empty()) throw std::runtime_error(path + " holds no digits");
  return digits;
}

/// The digits as a data set that makes the tensors of a sample when it is requested.
class Digits : public torch::data::datasets::Dataset<Digits> {
 public:
  explicit Digits(const std::string& path) : digits_(read_digits(path)) {}

  torch::data::Example<> get(std::size_t index) override {
    Digit& digit = digits_.at(index);
    return {torch::from_blob(digit.pixels.data(), {1, 8, 8}).clone(), torch::tensor(digit.label)};
  }

  std::optional<std::size_t> size() const override { return digits_.size(); }

 private:
  std::vector<Digit> digits_;
};

/// The digits as a data set that holds two tensors and returns their rows.
class DigitRows : public torch::data::datasets::Dataset<DigitRows> {
 public:
  explicit DigitRows(const std::string& path) {
    const std::vector<Digit> digits = read_digits(path);
    const auto count = static_cast<std::int64_t>(digits.size());
    images_ = torch::empty({count, 1, 8, 8});
    labels_ = torch::empty({count}, torch::kLong);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      std::copy_n(digits[i].pixels.data(), 64, images_.data_ptr<float>() + 64 * i);
      labels_.data_ptr<std::int64_t>()[i] = digits[i].label;
    }
  }

  torch::data::Example<> get(std::size_t index) override {
    const auto row = static_cast<std::int64_t>(index);
    return {images_[row], labels_[row]};
  }

  std::optional<std::size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor images_, labels_;
};

/// Returns all samples in an order that depends only on its seed.
class ShuffledSampler : public torch::data::samplers::Sampler<> {
 public:
  /// In batch number `swapped_batch` the first two samples change places.
  ShuffledSampler(std::size_t size, std::uint64_t seed, std::int64_t swapped_batch)
      : order_(size), generator_(seed), swapped_batch_(swapped_batch) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  void reset(std::optional<std::size_t> /*new_size*/ = std::nullopt) override {
    std::shuffle(order_.begin(), order_.end(), generator_);
    next_ = 0;
  }

  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override {
    const std::size_t count = std::min(batch_size, order_.size() - next_);
    if (count == 0) return std::nullopt;
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(next_);
    std::vector<std::size_t> batch(begin, begin + static_cast<std::ptrdiff_t>(count));
    if (batches_++ == swapped_batch_) std::swap(batch[0], batch[1]);
    next_ += count;
    return batch;
  }

  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}

 private:
  std::vector<std::size_t> order_;
  std::mt19937_64 generator_;
  std::int64_t swapped_batch_;
  std::int64_t batches_ = 0;
  std::size_t next_ = 0;
};

/// Moves every other image one pixel to the right, chosen by LibTorch's generator.
class RandomShift : public torch::data::transforms::TensorTransform<> {
 public:
  explicit RandomShift(bool enabled) : enabled_(enabled) {}

  torch::Tensor operator()(torch::Tensor image) override {
    if (!enabled_ || torch::rand({1}).item<float>() < 0.5F) return image;
    return torch::roll(image, 1, 2);
  }

 private:
  bool enabled_;
};

/// Batches of full size, in the order that the settings request.
template <class Dataset>
auto make_loader(const Settings& settings) {
  Dataset digits(settings.data);
  ShuffledSampler sampler(*digits.size(), settings.sampler_seed, settings.swap_samples);
  return torch::data::make_data_loader(
      std::move(digits).map(RandomShift(settings.augment)).map(torch::data::transforms::Stack<>()),
      std::move(sampler),
      torch::data::DataLoaderOptions()
          .batch_size(static_cast<std::size_t>(settings.batch))
          .workers(settings.workers)
          .drop_last(true));
}

/// The differences that a model and its training loop can have on request. Each is something that
/// happens in real programs; without its flag each function does nothing.
class Differences {
 public:
  explicit Differences(const Settings& settings) : settings_(settings) {}

  void before_model() const {
    if (settings_.unused_layer) torch::nn::Linear unused(64, 64);
  }

  /// Called before the forward pass of every step, with one of the model's weights.
  void start_step(std::int64_t step, const torch::Tensor& weight) {
    step_ = step;
    if (step == settings_.extra_draw) torch::rand({1});
    if (step == settings_.raw_write) change_largest(weight);
  }

  /// Called between two layers, with what the first one returned.
  void between_layers(const torch::Tensor& activation) const {
    if (step_ == settings_.poke_activation) change_largest(activation);
  }

  /// The last layer's input, [samples, features].
  torch::Tensor before_head(const torch::Tensor& features) const {
    if (settings_.empty_half) {
      const auto half = features.size(1) / 2;
      auto padded = torch::empty_like(features);
      padded.narrow(1, half, features.size(1) - half)
          .copy_(features.narrow(1, half, features.size(1) - half));
      return padded;
    }
    if (settings_.empty_overwritten) return torch::empty_like(features).copy_(features);
    return features;
  }

  torch::Tensor head(torch::nn::Linear& linear, const torch::Tensor& features) const {
    if (settings_.refactored_linear) {
      return torch::matmul(features, linear->weight.t()) + linear->bias;
    }
    return linear(features);
  }

  bool head_is_built_first() const { return settings_.order_of_modules; }

 private:
  /// Changes the element of largest magnitude by one ULP, without LibTorch.
  static void change_largest(const torch::Tensor& tensor) {
    float* begin = tensor.data_ptr<float>();
    float* largest = std::max_element(begin, begin + tensor.numel(),
                                      [](float a, float b) { return std::abs(a) < std::abs(b); });
    *largest = std::nextafter(*largest, std::numeric_limits<float>::infinity());
  }

  const Settings& settings_;
  std::int64_t step_ = kNever;
};

inline void print_step(std::int64_t step, const torch::Tensor& loss) {
  std::printf("step %lld loss %.9g\n", static_cast<long long>(step),
              static_cast<double>(loss.item<float>()));
}

/// Prints the last line: a 64-bit FNV-1a of tensors by name.
inline void print_digest(const std::map<std::string, torch::Tensor>& tensors) {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto add = [&digest](const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) digest = (digest ^ byte[i]) * 0x100000001b3;
  };
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor bytes = tensor.detach().contiguous();
    add(name.data(), name.size());
    add(bytes.const_data_ptr(), bytes.nbytes());
  }
  std::printf("final digest %016llx\n", static_cast<unsigned long long>(digest));
}

/// The digest of all parameters and buffers.
inline void print_digest(const torch::nn::Module& model) {
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& item : model.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : model.named_buffers()) tensors[item.key()] = item.value();
  print_digest(tensors);
}

/// Prints the share of the first samples that the model gets right. `prepare` makes the model's
/// input of the images, [samples, 1, 8, 8].
template <class Model, class Prepare>
void print_accuracy(Model& model, const Settings& settings, Prepare prepare) {
  torch::NoGradGuard no_grad;
  model->eval();
  DigitRows digits(settings.data);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < settings.validate; ++i) {
    const auto sample = digits.get(static_cast<std::size_t>(i));
    const torch::Tensor scores = model->forward(prepare(sample.data.unsqueeze(0)));
    right += scores.argmax(1).item<std::int64_t>() == sample.target.item<std::int64_t>();
  }
  std::printf("accuracy %.9g\n",
              static_cast<double>(right) / static_cast<double>(settings.validate));
}

/// What main() does: runs `train` with the parsed flags, prints errors in one line.
template <class Train>
int run_program(CLI::App& app, int argc, char** argv, Train train) {
  CLI11_PARSE(app, argc, argv);
  try {
    train();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 1;
  }
}

}  // namespace programs
