#include "core/difference_block.hpp"
#include "core/kernel_level.hpp"

namespace ulpscope::core {

DifferenceKernel ULPSCOPE_KERNEL(float_kernel_)(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float32:
      return &kernel<FloatingFormat<Float32>>;
    case Dtype::float64:
      return &kernel<FloatingFormat<Float64>>;
    case Dtype::complex64:
      return &kernel<FloatingFormat<Float32>, 2>;
    case Dtype::complex128:
      return &kernel<FloatingFormat<Float64>, 2>;
    default:
      return nullptr;
  }
}

}  // namespace ulpscope::core
