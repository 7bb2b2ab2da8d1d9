#pragma once

#include "support.hpp"

/// What the smaller training programs share besides support.hpp: three flags, the digits as
/// tensors.
namespace programs {

struct Basics {
  std::int64_t steps = 4;
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Adds the flags to `app`; the values in `basics` are the defaults.
inline void add_flags(CLI::App& app, Basics& basics) {
  app.option_defaults()->always_capture_default();
  app.add_option("--steps", basics.steps, "Training steps")->check(CLI::PositiveNumber);
  app.add_option("--seed", basics.seed, "Seed of LibTorch's generator");
  app.add_option("--threads", basics.threads, "Threads of one op")->check(CLI::PositiveNumber);
}

/// Makes the process-wide settings; comes before anything that draws random numbers.
inline void apply(const Basics& basics) {
  at::set_num_threads(basics.threads);
  torch::manual_seed(basics.seed);
}

/// All digits: images [samples, 1, 8, 8] from 0 to 1, labels [samples].
class DigitTensors {
 public:
  DigitTensors() {
    const std::vector<Digit> digits = read_digits(DIGITS_CSV);
    const auto count = static_cast<std::int64_t>(digits.size());
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (const Digit& digit : digits) {
      for (const float pixel : digit.pixels) pixels.push_back(pixel / 16);
      labels.push_back(digit.label);
    }
    images_ = torch::from_blob(pixels.data(), {count, 1, 8, 8}).clone();
    labels_ = torch::tensor(labels);
  }

  /// `size` samples, the first ones in batch 0, the next ones in batch 1, round and round.
  [[nodiscard]] torch::data::Example<> batch(std::int64_t number, std::int64_t size) const {
    const std::int64_t first = number * size % (images_.size(0) - size + 1);
    return {images_.narrow(0, first, size), labels_.narrow(0, first, size)};
  }

 private:
  torch::Tensor images_, labels_;
};

}  // namespace programs
