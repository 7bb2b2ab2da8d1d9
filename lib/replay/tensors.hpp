#pragma once

#include <ATen/core/Tensor.h>

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// An input as LibTorch takes it, laid out in memory as the conditions say. It does not require a
/// gradient.
///
/// @throws Error with ErrorCode::usage if bytes, sizes and strides do not fit.
[[nodiscard]] at::Tensor to_tensor(const ReplayTensor& given, Precision precision,
                                   const ReplayConditions& conditions);

/// A result for the answer, in row-major order; `place` says which one it is.
/// @throws Error with ErrorCode::usage if it is not a dense tensor.
[[nodiscard]] ReplayTensor from_tensor(ReplayTensor place, const at::Tensor& tensor);

}  // namespace ulpscope::replay
