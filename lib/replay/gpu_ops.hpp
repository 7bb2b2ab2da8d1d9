#pragma once

#include <ATen/core/stack.h>

#include <string_view>

/// Ops that LibTorch has only on a GPU, and oneDNN ops without float64, computed on a CPU in any
/// precision: from the definition of the forward op, by autograd if they are a backward.
namespace ulpscope::replay {

/// Takes an op's arguments off the stack and puts its results there.
using StandIn = void (*)(torch::jit::Stack& stack);

/// Null for an op that needs none.
[[nodiscard]] StandIn stand_in(std::string_view op);

}  // namespace ulpscope::replay
