#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>
#include <xmmintrin.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

/// Ops that are not LibTorch's, in a library of their own.
namespace {

at::Tensor plus(const at::Tensor& x, float more) {
  at::Tensor result = at::empty_like(x);
  const float* const from = x.const_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] + more;
  return result;
}

at::Tensor increment(const at::Tensor& x) { return plus(x, 1); }

/// Another result at every call.
at::Tensor drift(const at::Tensor& x) {
  static float calls = 0;
  return plus(x, calls++);
}

/// Ends its process where a variable asks for that.
at::Tensor fragile(const at::Tensor& x) {
  if (std::getenv("FRAGILE_OP_ENDS") != nullptr) std::abort();
  return plus(x, 2);
}

at::Tensor numbers(std::vector<double> values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kFloat));
}

/// Where a tensor begins, modulo 64, and its strides.
at::Tensor places(const at::Tensor& x) {
  std::vector<double> values{
      static_cast<double>(reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 64)};
  for (const std::int64_t stride : x.strides()) values.push_back(static_cast<double>(stride));
  return numbers(std::move(values));
}

/// What LibTorch is set to.
at::Tensor state(const at::Tensor& x) {
  const at::Context& context = at::globalContext();
  return numbers({static_cast<double>(at::get_num_threads()),
                  static_cast<double>(context.deterministicAlgorithms()),
                  static_cast<double>(context.deterministicAlgorithmsWarnOnly()),
                  static_cast<double>(context.deterministicFillUninitializedMemory()),
                  static_cast<double>(context.userEnabledMkldnn()),
                  static_cast<double>(at::GradMode::is_enabled()),
                  static_cast<double>(c10::InferenceMode::is_enabled()),
                  static_cast<double>(at::autocast::is_autocast_enabled(at::kCPU)),
                  static_cast<double>((_mm_getcsr() & 0x8040) != 0),
                  static_cast<double>(x.requires_grad())});
}

TORCH_LIBRARY(program, library) {
  library.def("places(Tensor x) -> Tensor", &places);
  library.def("state(Tensor x) -> Tensor", &state);
  library.def("increment(Tensor x) -> Tensor", &increment);
  library.def("drift(Tensor x) -> Tensor", &drift);
  library.def("fragile(Tensor x) -> Tensor", &fragile);
}

}  // namespace
