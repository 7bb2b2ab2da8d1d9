// One or two ops of which it is known, or documented, when they produce different bits on a GPU;
// for the pairs of runs that tests/device/recorded.py compares.
//
//   device_scenarios CASE [--device cpu|cuda] [--other]
//
// Prints nothing that depends on the bits. With --other the case is varied.
#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace {

using torch::Tensor;

torch::Device device(torch::kCPU);
bool other = false;

Tensor numbers(torch::IntArrayRef shape) { return torch::randn(shape).to(device); }

Tensor rows(std::int64_t count, std::int64_t below) {
  return torch::randint(below, {count}, torch::kLong).to(device);
}

void backward_of(const Tensor& leaf, const std::function<Tensor(const Tensor&)>& forward) {
  const Tensor x = leaf.clone().requires_grad_();
  const Tensor y = forward(x);
  y.backward(torch::ones_like(y) * 0.37);
}

/// Additions without a fixed order.
void index_add() {
  torch::zeros({8, 64}, device).index_add_(0, rows(20000, 8), numbers({20000, 64}));
}
void scatter_add() {
  torch::zeros({8, 64}, device)
      .scatter_add_(0, rows(20000, 8).unsqueeze(1).expand({20000, 64}), numbers({20000, 64}));
}
void index_put() {
  torch::zeros({8, 64}, device).index_put_({rows(20000, 8)}, numbers({20000, 64}), true);
}
void bincount() { torch::bincount(rows(200000, 8), numbers({200000})); }
void upsample() {
  backward_of(numbers({2, 3, 40, 40}), [](const Tensor& x) {
    return torch::upsample_bilinear2d(x, {333, 333}, false);
  });
}
void grid_sample() {
  const Tensor grid = numbers({2, 200, 200, 2});
  backward_of(numbers({2, 3, 16, 16}),
              [&](const Tensor& x) { return torch::grid_sampler_2d(x, grid, 0, 0, false); });
}
void reflection_pad() {
  backward_of(numbers({8, 16, 60, 60}), [](const Tensor& x) {
    return torch::reflection_pad2d(x, {50, 50, 50, 50});
  });
}

/// Other settings, as the first products show.
void tf32() {
  at::globalContext().setAllowTF32CuBLAS(other);
  torch::addmm(numbers({512}), numbers({256, 512}), numbers({512, 512}));
}
void reduced_sums() {
  at::globalContext().setAllowFP16ReductionCuBLAS(other);
  torch::mm(numbers({256, 16384}).to(torch::kHalf), numbers({16384, 64}).to(torch::kHalf));
}
void attention() {
  at::globalContext().setSDPUseFlash(false);
  at::globalContext().setSDPUseMemEfficient(other);
  at::globalContext().setSDPUseCuDNN(false);
  const Tensor q = numbers({2, 4, 128, 32});
  at::scaled_dot_product_attention(q, numbers({2, 4, 128, 32}), numbers({2, 4, 128, 32}));
}

/// Memory that nothing was written to, which was a different tensor's just before, or was not.
void reused_memory() {
  Tensor before = torch::full({1 << 20}, 3.0, device);
  if (!other) before.reset();
  torch::empty({1 << 20}, device) + 1;
}

const std::map<std::string, void (*)()> kCases{{"index_add", &index_add},
                                               {"scatter_add", &scatter_add},
                                               {"index_put", &index_put},
                                               {"bincount", &bincount},
                                               {"upsample", &upsample},
                                               {"grid_sample", &grid_sample},
                                               {"reflection_pad", &reflection_pad},
                                               {"tf32", &tf32},
                                               {"reduced_sums", &reduced_sums},
                                               {"attention", &attention},
                                               {"reused_memory", &reused_memory}};

void run(int argc, char** argv) {
  if (argc < 2 || !kCases.contains(argv[1])) throw std::invalid_argument("name a case");
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--other")
      other = true;
    else if (flag == "--device" && i + 1 < argc)
      device = torch::Device(argv[++i]);
    else
      throw std::invalid_argument("no such flag: " + flag);
  }
  if (device.is_cuda() && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(dlerror());
  torch::manual_seed(1);
  for (int repeat = 0; repeat < 20; ++repeat) kCases.at(argv[1])();
  std::printf("done\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_scenarios: %s\n", error.what());
    return 1;
  }
  return 0;
}
