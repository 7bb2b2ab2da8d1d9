// Classifies digits with a model that nothing trains.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct InferenceSettings : programs::Basics {
  bool no_grad = false;
  bool poke_scores = false;
  double eps = 1e-5;
};

struct AttentionImpl : nn::Module {
  AttentionImpl() {
    query = register_module("query", nn::Linear(8, 8));
    key = register_module("key", nn::Linear(8, 8));
    value = register_module("value", nn::Linear(8, 8));
  }

  Tensor forward(const Tensor& x) {
    const Tensor scores = torch::matmul(query(x), key(x).transpose(1, 2)) / std::sqrt(8.0);
    return torch::matmul(torch::softmax(scores, -1), value(x));
  }

  nn::Linear query{nullptr}, key{nullptr}, value{nullptr};
};
TORCH_MODULE(Attention);

struct NetImpl : nn::Module {
  explicit NetImpl(double eps) {
    attention = register_module("attention", Attention());
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({8}).eps(eps)));
    fc = register_module("fc", nn::Linear(64, 10));
  }

  /// images: [samples, 1, 8, 8]; rows are tokens
  Tensor forward(const Tensor& images) {
    const Tensor rows = images.squeeze(1);
    return fc(norm(rows + attention(rows)).flatten(1));
  }

  Attention attention{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

void infer(const InferenceSettings& settings) {
  programs::apply(settings);
  at::GradMode::set_enabled(!settings.no_grad);
  const programs::DigitTensors digits;
  Net model(settings.eps);
  model->eval();
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor scores = model->forward(digits.batch(step, 32).data);
    if (settings.poke_scores) scores.data_ptr<float>()[0] += 1;
    programs::print_step(step, scores.square().mean());
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  InferenceSettings settings;
  CLI::App app("Classifies digits with a model that nothing trains.", "inference_only");
  programs::add_flags(app, settings);
  app.get_option("--steps")->description("Batches to classify");
  app.add_flag("--no-grad", settings.no_grad, "Run without grad mode");
  app.add_flag("--poke-scores", settings.poke_scores, "Change what the model returns, past ops");
  app.add_option("--eps", settings.eps, "Epsilon of the normalisation");
  return programs::run_program(app, argc, argv, [&] { infer(settings); });
}
