#pragma once

#include <ATen/core/stack.h>

#include <string_view>

/// Ops that LibTorch has on a GPU only, and such of oneDNN that know no float64, as a CPU computes
/// them in any precision: from the definition of the forward op, by autograd where they are a
/// backward.
namespace ulpscope::replay {

/// Takes an op's arguments off the stack and puts its results there.
using StandIn = void (*)(torch::jit::Stack& stack);

/// Null for an op that needs none.
[[nodiscard]] StandIn stand_in(std::string_view op);

}  // namespace ulpscope::replay
