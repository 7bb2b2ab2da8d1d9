#pragma once

#include <c10/core/ScalarType.h>

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// The type that a recorded one is computed in.
[[nodiscard]] inline c10::ScalarType computing_type(Dtype dtype, Precision precision) {
  const auto type = static_cast<c10::ScalarType>(dtype);
  if (precision == Precision::recorded) return type;
  if (c10::isComplexType(type)) return c10::ScalarType::ComplexDouble;
  return c10::isFloatingType(type) ? c10::ScalarType::Double : type;
}

}  // namespace ulpscope::replay
