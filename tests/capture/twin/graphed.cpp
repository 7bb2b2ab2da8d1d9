// A layer's forward and its update by hand, captured once into a graph and replayed at every step.
#include <torch/torch.h>

#include "host_graphs.hpp"
#include "programs/basics.hpp"

int main(int argc, char** argv) {
  programs::Basics settings;
  CLI::App app("Replays a captured graph.", "graphed");
  programs::add_flags(app, settings);
  std::int64_t scaled_from = -1;
  app.add_option("--scaled-from", scaled_from, "Another graph from this step on");
  std::int64_t other_input = -1;
  app.add_option("--other-input", other_input, "Another input in this step");
  bool eager = false;
  app.add_flag("--eager", eager, "Without a graph");
  return programs::run_program(app, argc, argv, [&] {
    programs::apply(settings);
    const torch::NoGradGuard no_grad;
    torch::nn::Linear layer(8, 4);
    const torch::Tensor input = torch::zeros({16, 8});
    const torch::Tensor output = torch::zeros({16, 4});
    double scale = 1;
    const auto work = [&] {
      const torch::Tensor hidden = layer(input).relu();
      output.copy_(hidden * scale);
      layer->bias.add_(hidden.mean(0), 0.1);
    };
    at::cuda::CUDAGraph graph;
    if (!eager) {
      graph.work = work;
      graph.capture_begin();
      work();
      graph.capture_end();
    }
    for (std::int64_t step = 0; step < settings.steps; ++step) {
      if (step == scaled_from) scale = 1.01;
      input.normal_();
      if (step == other_input) input.mul_(2);
      if (eager)
        work();
      else
        graph.replay();
      programs::print_step(step, output.sum());
    }
  });
}
