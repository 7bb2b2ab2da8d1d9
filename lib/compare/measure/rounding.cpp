#include "compare/measure/rounding.hpp"

#include <algorithm>
#include <limits>

namespace ulpscope::comparison {

Grain grain_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::complex128:
      return {0x1p-52, 0x1p-1074, std::numeric_limits<double>::max()};
    case Dtype::float32:
    case Dtype::complex64:
      return {0x1p-23, 0x1p-149, 0x1.fffffep+127};
    case Dtype::float16:
    case Dtype::complex32:
      return {0x1p-10, 0x1p-24, 65504};
    case Dtype::bfloat16:
      return {0x1p-7, 0x1p-133, 0x1.fep+127};
    default:
      return {.largest = std::numeric_limits<double>::infinity()};
  }
}

bool is_rounded(Dtype dtype) noexcept { return grain_of(dtype).eps > 0; }

double computing_eps(Dtype dtype) noexcept {
  return std::min(grain_of(dtype).eps, grain_of(Dtype::float32).eps);
}

double rounding_distance(Dtype dtype, double times) noexcept {
  if (!is_rounded(dtype)) return rounding_distance(Dtype::float32, times);
  const double stored = grain_of(dtype).eps;
  const double computed = computing_eps(dtype);
  return times * computed + (stored > computed ? stored : 0);
}

}  // namespace ulpscope::comparison
