// Trains an LSTM to copy random sequences of tokens.
#include "support.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct CopierSettings {
  std::int64_t steps = 4;
  std::uint64_t seed = 4;
  int threads = 1;
  double adam_eps = 1e-8;
  double clip = 1;
  double dropout = 0.2;
  std::int64_t validate = 0;
  bool validate_in_train_mode = false;
  std::int64_t poke_gradient = programs::kNever;
};

struct CopierImpl : nn::Module {
  static constexpr std::int64_t kTokens = 50;

  explicit CopierImpl(double dropout)
      : embedding(register_module("embedding", nn::Embedding(kTokens, 16))),
        lstm(register_module(
            "lstm",
            nn::LSTM(nn::LSTMOptions(16, 32).num_layers(2).dropout(dropout).batch_first(true)))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({32})))),
        head(register_module("head", nn::Linear(32, kTokens))) {}

  Tensor forward(const Tensor& tokens) {
    const Tensor hidden = std::get<0>(lstm->forward(embedding(tokens)));
    return head(torch::gelu(norm(hidden)));
  }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::LayerNorm norm;
  nn::Linear head;
};
TORCH_MODULE(Copier);

void train(const CopierSettings& settings) {
  at::set_num_threads(settings.threads);
  torch::manual_seed(settings.seed);
  Copier model(settings.dropout);
  torch::optim::Adam optimizer(model->parameters(),
                               torch::optim::AdamOptions(1e-3).eps(settings.adam_eps));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor tokens = torch::randint(0, CopierImpl::kTokens, {8, 12});
    optimizer.zero_grad();
    const Tensor scores = model->forward(tokens).reshape({-1, CopierImpl::kTokens});
    const Tensor loss = torch::cross_entropy_loss(scores, tokens.reshape({-1}));
    loss.backward();
    if (step == settings.poke_gradient) {
      float& element = model->norm->weight.mutable_grad().data_ptr<float>()[3];
      element = std::nextafter(element, 1e9F);
    }
    nn::utils::clip_grad_norm_(model->parameters(), settings.clip);
    optimizer.step();
    const std::int64_t passes = settings.validate_in_train_mode ? 1 : settings.validate;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const torch::NoGradGuard no_grad;
      model->train(settings.validate_in_train_mode);
      model->forward(tokens);
      model->train();
    }
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  CopierSettings s;
  CLI::App app("Trains an LSTM to copy random sequences.", "lstm_copier");
  app.option_defaults()->always_capture_default();
  app.add_option("--steps", s.steps, "Training steps")->check(CLI::PositiveNumber);
  app.add_option("--seed", s.seed, "Seed of LibTorch's generator");
  app.add_option("--threads", s.threads, "Threads of one op")->check(CLI::PositiveNumber);
  app.add_option("--adam-eps", s.adam_eps, "Adam's epsilon");
  app.add_option("--clip", s.clip, "Norm that gradients are clipped to");
  app.add_option("--dropout", s.dropout, "Probability of dropping an element");
  app.add_option("--validate", s.validate, "Evaluate this often after each step");
  app.add_flag("--validate-in-train-mode", s.validate_in_train_mode,
               "Evaluate once after each step, without switching dropout off");
  app.add_option("--poke-gradient", s.poke_gradient,
                 "Change a gradient by one ULP before this step's clipping");
  return programs::run_program(app, argc, argv, [&] { train(s); });
}
