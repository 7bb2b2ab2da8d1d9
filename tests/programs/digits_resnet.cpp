// Trains a residual network on the digits, enlarged to 32x32.
#include "support.hpp"

namespace nn = torch::nn;
using programs::Differences;
using programs::Settings;
using torch::Tensor;

namespace {

struct ResNetSettings : Settings {
  double momentum = 0.1;
};

nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

nn::BatchNorm2d batch_norm(std::int64_t channels, const ResNetSettings& settings) {
  return nn::BatchNorm2d(
      nn::BatchNorm2dOptions(channels).eps(settings.eps).momentum(settings.momentum));
}

struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride,
                 const ResNetSettings& settings)
      : conv1(register_module("conv1", conv(in, out, 3, stride))),
        bn1(register_module("bn1", batch_norm(out, settings))),
        conv2(register_module("conv2", conv(out, out, 3, 1))),
        bn2(register_module("bn2", batch_norm(out, settings))) {
    if (in != out || stride != 1) {
      shortcut = register_module(
          "shortcut", nn::Sequential(conv(in, out, 1, stride), batch_norm(out, settings)));
    }
  }

  Tensor forward(const Tensor& x) {
    Tensor y = torch::relu(bn1(conv1(x)));
    y = bn2(conv2(y));
    return torch::relu(y + (shortcut ? shortcut->forward(x) : x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(BasicBlock);

struct ResNetImpl : nn::Module {
  ResNetImpl(const ResNetSettings& settings, const Differences& differences)
      : differences_(differences) {
    const auto width = settings.width;
    if (differences.head_is_built_first()) fc = nn::Linear(8 * width, 10);
    stem = register_module(
        "stem", nn::Sequential(conv(1, width, 3, 1), batch_norm(width, settings), nn::ReLU()));
    layer1 = register_module("layer1", stage(width, width, 1, settings));
    layer2 = register_module("layer2", stage(width, 2 * width, 2, settings));
    layer3 = register_module("layer3", stage(2 * width, 4 * width, 2, settings));
    layer4 = register_module("layer4", stage(4 * width, 8 * width, 2, settings));
    pool = register_module("pool", nn::AdaptiveAvgPool2d(1));
    dropout = register_module("dropout", nn::Dropout(settings.dropout));
    if (!fc) fc = nn::Linear(8 * width, 10);
    register_module("fc", fc);
  }

  Tensor forward(const Tensor& images) {
    Tensor x = layer1->forward(stem->forward(images));
    differences_.between_layers(x);
    x = layer4->forward(layer3->forward(layer2->forward(x)));
    x = dropout(torch::flatten(pool(x), 1));
    return differences_.head(fc, differences_.before_head(x));
  }

  static nn::Sequential stage(std::int64_t in, std::int64_t out, std::int64_t stride,
                              const ResNetSettings& settings) {
    nn::Sequential blocks(BasicBlock(in, out, stride, settings));
    for (std::int64_t i = 1; i < settings.layers; ++i) {
      blocks->push_back(BasicBlock(out, out, 1, settings));
    }
    return blocks;
  }

  const Differences& differences_;
  nn::Sequential stem{nullptr}, layer1{nullptr}, layer2{nullptr}, layer3{nullptr}, layer4{nullptr};
  nn::AdaptiveAvgPool2d pool{nullptr};
  nn::Dropout dropout{nullptr};
  nn::Linear fc{nullptr};
};
TORCH_MODULE(ResNet);

Tensor enlarged(const Tensor& images) {
  return nn::functional::interpolate(images / 16, nn::functional::InterpolateFuncOptions()
                                                      .size(std::vector<std::int64_t>{32, 32})
                                                      .mode(torch::kBilinear)
                                                      .align_corners(false));
}

void train(const ResNetSettings& settings) {
  programs::apply(settings);
  Differences differences(settings);
  differences.before_model();
  ResNet model(settings, differences);
  if (!settings.load_weights.empty()) torch::load(model, settings.load_weights);
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(settings.lr).momentum(0.9));
  const auto loader = programs::make_loader<programs::Digits>(settings);
  const Tensor watched = model->layer2->ptr<BasicBlockImpl>(0)->conv1->weight;

  model->train(!settings.eval);
  for (std::int64_t step = 0; step < settings.steps;) {
    for (const auto& batch : *loader) {
      const Tensor images = enlarged(batch.data);
      differences.start_step(step, watched);
      optimizer.zero_grad();
      const Tensor loss = torch::cross_entropy_loss(model->forward(images), batch.target);
      loss.backward();
      optimizer.step();
      programs::print_step(step, loss);
      if (++step == settings.steps) break;
    }
  }

  if (settings.validate > 0) programs::print_accuracy(model, settings, enlarged);
  if (!settings.save.empty()) torch::save(model, settings.save);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  ResNetSettings settings;
  settings.layers = 1;
  CLI::App app("Trains a residual network on the digits.", "digits_resnet");
  programs::add_flags(app, settings);
  app.add_option("--momentum", settings.momentum, "Momentum of BatchNorm's running statistics");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
