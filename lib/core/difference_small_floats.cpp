#include "core/difference_block.hpp"
#include "core/kernel_level.hpp"

namespace ulpscope::core {

DifferenceKernel ULPSCOPE_KERNEL(small_float_kernel_)(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float16:
      return &kernel<FloatingFormat<Float16>>;
    case Dtype::bfloat16:
      return &kernel<FloatingFormat<BFloat16>>;
    case Dtype::complex32:
      return &kernel<FloatingFormat<Float16>, 2>;
    case Dtype::float8_e5m2:
      return &kernel<FloatingFormat<Float8E5M2>>;
    case Dtype::float8_e4m3fn:
      return &kernel<FloatingFormat<Float8E4M3Fn>>;
    case Dtype::float8_e5m2fnuz:
      return &kernel<FloatingFormat<Float8E5M2Fnuz>>;
    case Dtype::float8_e4m3fnuz:
      return &kernel<FloatingFormat<Float8E4M3Fnuz>>;
    default:
      return nullptr;
  }
}

}  // namespace ulpscope::core
