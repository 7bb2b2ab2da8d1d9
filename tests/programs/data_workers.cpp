// Trains on batches that worker threads load and transform in random order.
#include "basics.hpp"

namespace nn = torch::nn;
namespace data = torch::data;
using torch::Tensor;

namespace {

struct WorkerSettings : programs::Basics {
  std::size_t workers = 2;
  std::uint64_t order = 7;
};

/// Pairs of neighboring digits: is the second one larger?
class Pairs : public data::datasets::Dataset<Pairs> {
 public:
  Pairs() : digits_(programs::read_digits(DIGITS_CSV)) {}

  data::Example<> get(std::size_t index) override {
    const programs::Digit& first = digits_[index];
    const programs::Digit& second = digits_[index + 1];
    Tensor images = torch::empty({2, 8, 8});
    std::copy(first.pixels.begin(), first.pixels.end(), images.data_ptr<float>());
    std::copy(second.pixels.begin(), second.pixels.end(), images.data_ptr<float>() + 64);
    return {images, torch::tensor(static_cast<std::int64_t>(second.label > first.label))};
  }

  std::optional<std::size_t> size() const override { return digits_.size() - 1; }

 private:
  std::vector<programs::Digit> digits_;
};

/// Puts the brightest pixel of every sample to 1.
struct Brighten : data::transforms::TensorTransform<> {
  Tensor operator()(Tensor images) override { return images / images.amax(); }
};

struct ComparerImpl : nn::Module {
  ComparerImpl() {
    register_module("conv", conv);
    register_module("fc", fc);
  }

  Tensor forward(const Tensor& pairs) {
    return fc(torch::avg_pool2d(torch::relu(conv(pairs)), 2).flatten(1));
  }

  nn::Conv2d conv{nn::Conv2dOptions(2, 8, 3).padding(1)};
  nn::Linear fc{128, 2};
};
TORCH_MODULE(Comparer);

void train(const WorkerSettings& settings) {
  programs::apply(settings);
  Comparer model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  torch::manual_seed(settings.order);
  auto pairs = Pairs()
                   .map(Brighten())
                   .map(data::transforms::Normalize<>(0.3, 0.4))
                   .map(data::transforms::Stack<>());
  const std::size_t size = *pairs.size();
  const auto loader = data::make_data_loader(
      std::move(pairs), data::samplers::RandomSampler(size),
      data::DataLoaderOptions().batch_size(8).workers(settings.workers).enforce_ordering(true));
  std::int64_t step = 0;
  for (const auto& batch : *loader) {
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(model->forward(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
    if (++step == settings.steps) break;
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  WorkerSettings settings;
  CLI::App app("Trains on batches that worker threads load.", "data_workers");
  programs::add_flags(app, settings);
  app.add_option("--workers", settings.workers, "Threads that load batches");
  app.add_option("--order", settings.order, "Seed of the order of samples");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
