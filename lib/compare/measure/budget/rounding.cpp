#include "compare/measure/budget/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulpscope::comparison::budget {
namespace {

/// The distance from 1 to the next number, the smallest number above 0 and the largest one.
struct Grain {
  double eps = 0;
  double smallest = 0;
  double largest = std::numeric_limits<double>::infinity();
};

[[nodiscard]] Grain grain_of(Dtype dtype) noexcept {
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
      return {};
  }
}

/// What an op computes in: results of 16 bits are rounded from float32.
[[nodiscard]] double computing_eps(Dtype dtype) noexcept {
  return std::min(grain_of(dtype).eps, grain_of(Dtype::float32).eps);
}

}  // namespace

bool is_rounded(Dtype dtype) noexcept { return grain_of(dtype).eps > 0; }

bool is_known(const Allowance& allowance) noexcept {
  return !allowance.why.empty() && std::isfinite(allowance.relative) &&
         std::isfinite(allowance.absolute) && std::isfinite(allowance.scale);
}

double allowed(const Allowance& allowance, double size, Dtype dtype) noexcept {
  const Grain grain = grain_of(dtype);
  const double computing = computing_eps(dtype);
  const double error =
      computing * std::hypot(allowance.relative * size, allowance.absolute * allowance.scale);
  if (error == 0) return 0;
  const double kept = size + allowance.kept_relative * size + allowance.kept_size;
  if (grain.eps <= computing) return error + grain.smallest;
  return error + grain.eps * kept + (1 + allowance.kept_relative) * grain.smallest;
}

double largest_number(Dtype dtype) noexcept { return grain_of(dtype).largest; }

}  // namespace ulpscope::comparison::budget
