// Trains a small U-Net to take the noise from the digits.
#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct UNetSettings : programs::Basics {
  double bottom_eps = 1e-5;
  bool swap_skip = false;
};

struct DoubleConvImpl : nn::Module {
  DoubleConvImpl(std::int64_t in, std::int64_t out, double eps = 1e-5)
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)))),
        norm1(register_module("norm1", nn::BatchNorm2d(nn::BatchNorm2dOptions(out).eps(eps)))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(1)))),
        norm2(register_module("norm2", nn::BatchNorm2d(nn::BatchNorm2dOptions(out).eps(eps)))) {}

  Tensor forward(Tensor x) {
    x = torch::relu(norm1(conv1(x)));
    return torch::relu(norm2(conv2(x)));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d norm1;
  nn::Conv2d conv2;
  nn::BatchNorm2d norm2;
};
TORCH_MODULE(DoubleConv);

/// Doubles height and width by a transposed convolution and joins what the downward path has kept.
struct UpImpl : nn::Module {
  UpImpl(std::int64_t in, std::int64_t out, bool swap_skip)
      : swapped(swap_skip),
        up(register_module("up",
                           nn::ConvTranspose2d(nn::ConvTranspose2dOptions(in, out, 2).stride(2)))),
        conv(register_module("conv", DoubleConv(2 * out, out))) {}

  Tensor forward(const Tensor& x, const Tensor& skipped) {
    const Tensor enlarged = up(x);
    if (swapped) return conv(torch::cat({enlarged, skipped}, 1));
    return conv(torch::cat({skipped, enlarged}, 1));
  }

  bool swapped;
  nn::ConvTranspose2d up;
  DoubleConv conv;
};
TORCH_MODULE(Up);

struct UNetImpl : nn::Module {
  explicit UNetImpl(const UNetSettings& settings)
      : down1(register_module("down1", DoubleConv(1, 8))),
        down2(register_module("down2", DoubleConv(8, 16))),
        bottom(register_module("bottom", DoubleConv(16, 32, settings.bottom_eps))),
        up2(register_module("up2", Up(32, 16, settings.swap_skip))),
        mix(register_module("mix", DoubleConv(16 + 8, 8))),
        out(register_module("out", nn::Conv2d(nn::Conv2dOptions(8, 1, 1)))) {}

  Tensor forward(const Tensor& x) {
    const Tensor first = down1(x);
    const Tensor second = down2(torch::max_pool2d(first, 2));
    const Tensor deep = bottom(torch::max_pool2d(second, 2));
    const Tensor up = up2(deep, second);
    const Tensor enlarged =
        nn::functional::interpolate(up, nn::functional::InterpolateFuncOptions()
                                            .scale_factor(std::vector<double>{2, 2})
                                            .mode(torch::kBilinear)
                                            .align_corners(false));
    return out(mix(torch::cat({first, enlarged}, 1)));
  }

  DoubleConv down1, down2, bottom;
  Up up2;
  DoubleConv mix;
  nn::Conv2d out;
};
TORCH_MODULE(UNet);

void train(const UNetSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  UNet model(settings);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor clean = digits.batch(step, 16).data;
    const Tensor noisy = clean + 0.2 * torch::randn_like(clean);
    optimizer.zero_grad();
    const Tensor loss = torch::mse_loss(model->forward(noisy), clean);
    loss.backward();
    optimizer.step();
    programs::print_step(step, loss);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  UNetSettings settings;
  CLI::App app("Trains a small U-Net to take the noise from the digits.", "unet");
  programs::add_flags(app, settings);
  app.add_option("--bottom-eps", settings.bottom_eps, "Epsilon of the normalisation at the bottom");
  app.add_flag("--swap-skip", settings.swap_skip, "Joins the way down behind the way up");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
