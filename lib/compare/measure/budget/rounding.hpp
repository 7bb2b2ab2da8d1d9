#pragma once

#include "compare/measure/budget/allowance.hpp"
#include "ulpscope/dtype.hpp"

namespace ulpscope::comparison::budget {

/// False if a model has nothing to say of a result, or its numbers are beyond all measure.
[[nodiscard]] bool is_known(const Allowance& allowance) noexcept;

/// True if no bit of a result may differ.
[[nodiscard]] inline bool allows_nothing(const Allowance& allowance) noexcept {
  return allowance.relative == 0 && allowance.absolute == 0;
}

/// How far a result of `size` may be off, in its own unit.
[[nodiscard]] double allowed(const Allowance& allowance, double size, Dtype dtype) noexcept;

}  // namespace ulpscope::comparison::budget
