// Trains a transformer encoder on the digits: one token per pixel.
#include "support.hpp"

namespace nn = torch::nn;
using programs::Differences;
using programs::Settings;
using torch::Tensor;

namespace {

struct TransformerSettings : Settings {
  std::int64_t heads = 4;
  std::string encoder = "own";
  std::string optimizer = "adamw";
  std::int64_t flip_signs = programs::kNever;
  std::int64_t write_after_gelu = programs::kNever;
  std::int64_t step = 0;
};

nn::LayerNorm layer_norm(const Settings& settings) {
  return nn::LayerNorm(nn::LayerNormOptions({settings.width}).eps(settings.eps));
}

struct SelfAttentionImpl : nn::Module {
  explicit SelfAttentionImpl(const TransformerSettings& settings)
      : heads_(settings.heads),
        qkv(register_module("qkv", nn::Linear(settings.width, 3 * settings.width))),
        proj(register_module("proj", nn::Linear(settings.width, settings.width))) {}

  /// x: [samples, tokens, width]
  Tensor forward(const Tensor& x) {
    const auto samples = x.size(0), tokens = x.size(1), width = x.size(2);
    const auto parts = qkv(x).view({samples, tokens, 3, heads_, width / heads_}).unbind(2);
    const Tensor mixed = torch::scaled_dot_product_attention(
        parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2));
    return proj(mixed.transpose(1, 2).reshape({samples, tokens, width}));
  }

  std::int64_t heads_;
  nn::Linear qkv, proj;
};
TORCH_MODULE(SelfAttention);

struct EncoderBlockImpl : nn::Module {
  explicit EncoderBlockImpl(const TransformerSettings& settings)
      : norm1(register_module("norm1", layer_norm(settings))),
        attention(register_module("attention", SelfAttention(settings))),
        norm2(register_module("norm2", layer_norm(settings))),
        fc1(register_module("fc1", nn::Linear(settings.width, 4 * settings.width))),
        fc2(register_module("fc2", nn::Linear(4 * settings.width, settings.width))),
        dropout(register_module("dropout", nn::Dropout(settings.dropout))),
        settings_(settings) {}

  Tensor forward(const Tensor& x) {
    const Tensor attended = x + dropout(attention(norm1(x)));
    const Tensor hidden = torch::gelu(fc1(norm2(attended)));
    if (settings_.step == settings_.write_after_gelu) hidden.data_ptr<float>()[7] = 0.25F;
    return attended + dropout(fc2(hidden));
  }

  nn::LayerNorm norm1;
  SelfAttention attention;
  nn::LayerNorm norm2;
  nn::Linear fc1, fc2;
  nn::Dropout dropout;
  const TransformerSettings& settings_;
};
TORCH_MODULE(EncoderBlock);

nn::TransformerEncoder library_encoder(const TransformerSettings& settings) {
  const auto layer = nn::TransformerEncoderLayerOptions(settings.width, settings.heads)
                         .dim_feedforward(4 * settings.width)
                         .dropout(settings.dropout);
  return nn::TransformerEncoder(nn::TransformerEncoderOptions(layer, settings.layers));
}

struct ClassifierImpl : nn::Module {
  ClassifierImpl(const TransformerSettings& settings, const Differences& differences)
      : differences_(differences) {
    const auto width = settings.width;
    if (differences.head_is_built_first()) head = nn::Linear(width, 10);
    embedding = register_module("embedding", nn::Embedding(17, width));
    positions = register_parameter("positions", 0.02 * torch::randn({64, width}));
    if (settings.encoder == "torch") {
      encoder = register_module("encoder", library_encoder(settings));
    } else {
      blocks = register_module("blocks", nn::ModuleList());
      for (std::int64_t i = 0; i < settings.layers; ++i) blocks->push_back(EncoderBlock(settings));
    }
    norm = register_module("norm", layer_norm(settings));
    if (!head) head = nn::Linear(width, 10);
    register_module("head", head);
  }

  /// tokens: [samples, 64], each from 0 to 16
  Tensor forward(const Tensor& tokens) {
    Tensor x = embedding(tokens) + positions;
    differences_.between_layers(x);
    if (encoder) {
      x = encoder(x.transpose(0, 1)).transpose(0, 1);
    } else {
      for (const auto& block : *blocks) x = block->as<EncoderBlock>()->forward(x);
    }
    return differences_.head(head, differences_.before_head(norm(x).mean(1)));
  }

  const Differences& differences_;
  nn::Embedding embedding{nullptr};
  Tensor positions;
  nn::ModuleList blocks{nullptr};
  nn::TransformerEncoder encoder{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Classifier);

Tensor as_tokens(const Tensor& images) { return images.flatten(1).to(torch::kLong); }

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TransformerSettings& settings,
                                                        std::vector<Tensor> parameters) {
  if (settings.optimizer == "sgd") {
    return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                               torch::optim::SGDOptions(settings.lr).momentum(0.9));
  }
  return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                               torch::optim::AdamWOptions(settings.lr));
}

void train(TransformerSettings& settings) {
  programs::apply(settings);
  Differences differences(settings);
  differences.before_model();
  Classifier model(settings, differences);
  if (!settings.load_weights.empty()) torch::load(model, settings.load_weights);
  const auto optimizer = make_optimizer(settings, model->parameters());
  const auto loader = programs::make_loader<programs::Digits>(settings);
  const Tensor watched =
      model->encoder ? model->norm->weight : model->blocks[0]->as<EncoderBlock>()->fc1->weight;

  model->train(!settings.eval);
  for (std::int64_t step = 0; step < settings.steps;) {
    for (const auto& batch : *loader) {
      const Tensor tokens = as_tokens(batch.data);
      differences.start_step(step, watched);
      settings.step = step;
      if (step == settings.flip_signs) {
        float* const weights = watched.data_ptr<float>();
        weights[3] = -weights[3];
        weights[4] = -weights[4];
      }
      optimizer->zero_grad();
      const Tensor loss = torch::cross_entropy_loss(model->forward(tokens), batch.target);
      loss.backward();
      optimizer->step();
      programs::print_step(step, loss);
      if (++step == settings.steps) break;
    }
  }

  if (settings.validate > 0) programs::print_accuracy(model, settings, as_tokens);
  if (!settings.save.empty()) torch::save(model, settings.save);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  TransformerSettings settings;
  settings.width = 64;
  settings.batch = 16;
  settings.lr = 1e-3;
  CLI::App app("Trains a transformer encoder on the digits.", "transformer_encoder");
  programs::add_flags(app, settings);
  app.add_option("--heads", settings.heads, "Attention heads; divides --width")
      ->check(CLI::PositiveNumber);
  app.add_option("--encoder", settings.encoder, "Blocks of this program or of LibTorch")
      ->check(CLI::IsMember({"own", "torch"}));
  app.add_option("--optimizer", settings.optimizer)->check(CLI::IsMember({"adamw", "sgd"}));
  app.add_option("--flip-signs", settings.flip_signs,
                 "Flip the signs of two weights before this step");
  app.add_option("--write-after-gelu", settings.write_after_gelu,
                 "Change an activation through its pointer in this step");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
