#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdio>
#include <cstdlib>

/// few_ops THREADS: a sum that depends on the number of threads, random numbers, the ops of
/// program_ops, and products in less than float32.
int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  at::manual_seed(1);
  const at::Tensor x = at::randn({1 << 19}).sin();
  double result = x.sum().item<double>() + at::randn({3}).sum().item<double>();
  const at::Tensor few = x.slice(0, 0, 8).contiguous();
  for (const char* name : {"program::increment", "program::drift", "program::fragile"})
    result += c10::Dispatcher::singleton()
                  .findSchemaOrThrow(name, "")
                  .typed<at::Tensor(const at::Tensor&)>()
                  .call(few)
                  .sum()
                  .item<double>();
  const at::Tensor square = at::randn({300, 300});
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  result += at::linear(square, square).sum().item<double>();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::globalContext().setFloat32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL,
                                          at::Float32Precision::BF16);
  result += at::mm(square, square).sum().item<double>();
  std::printf("%.9g\n", result);
}
