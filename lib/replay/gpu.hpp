#pragma once

#include <c10/core/Device.h>

namespace ulpscope::replay {

/// The GPU of that number, or another one if there are fewer.
/// @throws Error with ErrorCode::usage if there is none, or LibTorch's library for them is not
/// open.
[[nodiscard]] c10::Device gpu(int number);

}  // namespace ulpscope::replay
