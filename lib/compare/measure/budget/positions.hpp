#pragma once

#include "compare/measure/budget/op_view.hpp"
#include "compare/measure/tensor_bytes.hpp"

namespace ulpscope::comparison::budget {

/// Whether the positions that an op such as `sort` returned in the two runs are those of equal
/// numbers of its input along its dimension: which of them it picks is open.
/// @pre the input is the same in both runs.
[[nodiscard]] bool pick_equal_numbers(const OpView& op, const TensorBytes& positions);

}  // namespace ulpscope::comparison::budget
