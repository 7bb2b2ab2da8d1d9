// Trains a scale through a custom op, which has two kernels for the same computation and reports
// which one it launches.
#include <torch/library.h>

#include <cstring>

#include "device/launches.hpp"
#include "programs/basics.hpp"

namespace {

ulpscope::device::OnLaunch told = nullptr;
bool in_pairs = false;

void launch(const char* kernel) {
  if (told != nullptr) told(kernel);
}

torch::Tensor total(const torch::Tensor& x) {
  launch("clear");
  launch(in_pairs ? "_ZN4host5totalILi2EEEvPKfPf" : "_ZN4host5totalILi1EEEvPKfPf");
  return in_pairs ? (x.slice(0, 0, x.size(0), 2) + x.slice(0, 1, x.size(0), 2)).sum() : x.sum();
}

TORCH_LIBRARY(host, library) {
  library.def("total(Tensor x) -> Tensor");
  library.impl("total", torch::kCPU, &total);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void tell_launches(
    ulpscope::device::OnLaunch tell) {
  told = tell;
}

int main(int argc, char** argv) {
  programs::Basics settings;
  CLI::App app("Sums with an op of its own.", "launching");
  programs::add_flags(app, settings);
  app.add_flag("--in-pairs", in_pairs, "Sum with the other kernel");
  return programs::run_program(app, argc, argv, [&] {
    programs::apply(settings);
    const auto op = torch::Dispatcher::singleton()
                        .findSchemaOrThrow("host::total", "")
                        .typed<torch::Tensor(const torch::Tensor&)>();
    torch::nn::Linear layer(8, 8);
    for (std::int64_t step = 0; step < settings.steps; ++step) {
      const torch::NoGradGuard no_grad;
      launch("between");
      programs::print_step(step, op.call(layer(torch::randn({64, 8})).flatten()));
    }
  });
}
