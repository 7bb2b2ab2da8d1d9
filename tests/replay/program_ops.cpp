#include <ATen/Functions.h>
#include <torch/library.h>

#include <cstdlib>

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

TORCH_LIBRARY(program, library) {
  library.def("increment(Tensor x) -> Tensor", &increment);
  library.def("drift(Tensor x) -> Tensor", &drift);
  library.def("fragile(Tensor x) -> Tensor", &fragile);
}

}  // namespace
