// Trains a small network and saves what its layers compute with torch::save, in every dtype that
// layers produce.
#include <filesystem>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct SavedSettings : programs::Basics {
  std::filesystem::path folder;
};

/// The computed values, by the names that a recording gives them.
using Saved = std::vector<std::pair<std::string, Tensor>>;

/// A copy whose memory is laid out as the original's.
Tensor kept(const Tensor& tensor) { return tensor.detach().clone(at::MemoryFormat::Preserve); }

// Calls that the compiler folds into their caller leave no trace of their module.

/// Passes its input on in a different dtype.
template <at::ScalarType kDtype>
class CastImpl : public nn::Module {
 public:
  [[gnu::noinline]] Tensor forward(const Tensor& x) { return x.to(kDtype); }
};
template <at::ScalarType kDtype>
using Cast = nn::ModuleHolder<CastImpl<kDtype>>;

class SpectrumImpl : public nn::Module {
 public:
  [[gnu::noinline]] Tensor forward(const Tensor& x) { return torch::fft::rfft(x); }
};
TORCH_MODULE(Spectrum);

class PositiveImpl : public nn::Module {
 public:
  [[gnu::noinline]] Tensor forward(const Tensor& x) { return x > 0; }
};
TORCH_MODULE(Positive);

class SavingImpl : public nn::Module {
 public:
  SavingImpl() {
    register_module("conv", conv_);
    register_module("half", half_);
    register_module("brain", brain_);
    register_module("double", double_);
    register_module("spectrum", spectrum_);
    register_module("positive", positive_);
    register_module("fc", fc_);
  }

  Tensor forward(const Tensor& images, Saved& saved) {
    Tensor x = conv_(images);
    keep(saved, "conv", x);
    // A memory order that differs from that of the dimensions.
    x = x.contiguous(at::MemoryFormat::ChannelsLast);
    x = half_(x);
    keep(saved, "half", x);
    x = brain_(x);
    keep(saved, "brain", x);
    x = double_(x);
    keep(saved, "double", x);
    const Tensor spectrum = spectrum_(x.to(at::kFloat).flatten(1));
    keep(saved, "spectrum", spectrum);
    const Tensor positive = positive_(spectrum.abs() - 1);
    keep(saved, "positive", positive);
    x = fc_((spectrum.abs() * positive).narrow(1, 0, 64));
    keep(saved, "fc", x);
    return x;
  }

 private:
  static void keep(Saved& saved, const std::string& layer, const Tensor& output) {
    if (output.requires_grad()) output.retain_grad();
    saved.emplace_back(layer, output);
  }

  nn::Conv2d conv_{nn::Conv2dOptions(1, 4, 3).padding(1)};
  Cast<at::kHalf> half_{std::make_shared<CastImpl<at::kHalf>>()};
  Cast<at::kBFloat16> brain_{std::make_shared<CastImpl<at::kBFloat16>>()};
  Cast<at::kDouble> double_{std::make_shared<CastImpl<at::kDouble>>()};
  Spectrum spectrum_{std::make_shared<SpectrumImpl>()};
  Positive positive_{std::make_shared<PositiveImpl>()};
  nn::Linear fc_{64, 10};
};
TORCH_MODULE(Saving);

void save(const std::filesystem::path& folder, const std::string& name, const Tensor& tensor) {
  if (!folder.empty()) torch::save(tensor, (folder / (name + ".pt")).string());
}

void train(const SavedSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Saving model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto batch = digits.batch(step, 8);
    Saved outputs;
    optimizer.zero_grad();
    const Tensor loss =
        torch::nn::functional::cross_entropy(model->forward(batch.data, outputs), batch.target);
    Saved forward;
    for (const auto& [layer, output] : outputs) forward.emplace_back(layer, kept(output));
    loss.backward();
    const std::string prefix = "step" + std::to_string(step) + ".";
    for (const auto& [layer, output] : forward)
      save(settings.folder, prefix + "forward." + layer + ".output", output);
    for (const auto& [layer, output] : outputs)
      if (output.requires_grad())
        save(settings.folder, prefix + "backward." + layer + ".grad_output", output.grad());
    for (const auto& item : model->named_parameters())
      save(settings.folder, prefix + "backward." + item.key() + ".grad", item.value().grad());
    optimizer.step();
    for (const auto& item : model->named_parameters())
      save(settings.folder, prefix + "optimizer." + item.key(), item.value().detach());
    programs::print_step(step, loss.detach());
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  SavedSettings settings;
  CLI::App app("Trains a small network and saves what its layers compute.", "saved_layers");
  programs::add_flags(app, settings);
  app.add_option("--folder", settings.folder, "Where to save; nowhere if not given");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
