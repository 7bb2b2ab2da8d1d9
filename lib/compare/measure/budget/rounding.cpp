#include "compare/measure/budget/rounding.hpp"

#include <cmath>

#include "compare/measure/rounding.hpp"

namespace ulpscope::comparison::budget {
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

}  // namespace ulpscope::comparison::budget
