#pragma once

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// Calls the op through LibTorch's dispatcher, without autograd. What LibTorch or the request say
/// against it is the answer's failure.
[[nodiscard]] ReplayAnswer call(const ReplayRequest& request);

}  // namespace ulpscope::replay
