// Trains a multilayer perceptron with layer normalization on the digits.
#include "support.hpp"

namespace nn = torch::nn;
using programs::Differences;
using programs::Settings;
using torch::Tensor;

namespace {

struct BlockImpl : nn::Module {
  BlockImpl(std::int64_t in, std::int64_t out, const Settings& settings)
      : fc(register_module("fc", nn::Linear(in, out))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({out}).eps(settings.eps)))),
        dropout(register_module("dropout", nn::Dropout(settings.dropout))) {}

  Tensor forward(const Tensor& x) { return dropout(torch::gelu(norm(fc(x)))); }

  nn::Linear fc;
  nn::LayerNorm norm;
  nn::Dropout dropout;
};
TORCH_MODULE(Block);

struct MlpImpl : nn::Module {
  MlpImpl(const Settings& settings, const Differences& differences) : differences_(differences) {
    if (differences.head_is_built_first()) head = nn::Linear(settings.width, 10);
    input = register_module("input", Block(64, settings.width, settings));
    blocks = register_module("blocks", nn::ModuleList());
    for (std::int64_t i = 0; i < settings.layers; ++i) {
      blocks->push_back(Block(settings.width, settings.width, settings));
    }
    if (!head) head = nn::Linear(settings.width, 10);
    register_module("head", head);
  }

  Tensor forward(const Tensor& pixels) {
    Tensor x = input(pixels);
    differences_.between_layers(x);
    for (const auto& block : *blocks) x = block->as<Block>()->forward(x);
    return differences_.head(head, differences_.before_head(x));
  }

  const Differences& differences_;
  Block input{nullptr};
  nn::ModuleList blocks{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Mlp);

Tensor flat(const Tensor& images) { return images.flatten(1) / 16; }

void train(const Settings& settings) {
  programs::apply(settings);
  Differences differences(settings);
  differences.before_model();
  Mlp model(settings, differences);
  if (!settings.load_weights.empty()) torch::load(model, settings.load_weights);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(settings.lr));
  const auto loader = programs::make_loader<programs::DigitRows>(settings);
  const Tensor watched = model->blocks[0]->as<Block>()->fc->weight;

  model->train(!settings.eval);
  for (std::int64_t step = 0; step < settings.steps;) {
    for (const auto& batch : *loader) {
      const Tensor pixels = flat(batch.data);
      differences.start_step(step, watched);
      optimizer.zero_grad();
      const Tensor loss = torch::cross_entropy_loss(model->forward(pixels), batch.target);
      loss.backward();
      optimizer.step();
      programs::print_step(step, loss);
      if (++step == settings.steps) break;
    }
  }

  if (settings.validate > 0) programs::print_accuracy(model, settings, flat);
  if (!settings.save.empty()) torch::save(model, settings.save);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.width = 128;
  settings.lr = 1e-3;
  CLI::App app("Trains a multilayer perceptron on the digits.", "layernorm_mlp");
  programs::add_flags(app, settings);
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
