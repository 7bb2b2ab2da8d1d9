#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <span>

#include "capture/thread.hpp"

namespace torch::autograd {
struct Node;
}

/// Calls of modules and what crosses their boundaries: inputs, outputs and the gradients with
/// respect to them, parameters and buffers.
///
/// LibTorch's own modules announce their calls (interpose.hpp). The program's are found on its call
/// stack (running_modules.hpp); the inputs and outputs of such a call follow from who wrote and who
/// reads each value.
namespace ulpscope::capture {

/// The program's code calls something that reads `read`, and may have left and entered calls of its
/// own modules before: ends and begins their events. A value that was made in a call that has ended
/// is one of its outputs; one that was made outside a call that is still running is one of its
/// inputs.
/// @param child the module whose forward begins next, 0 for none.
void follow_modules(Thread& thread, std::uint32_t child, std::span<const at::Tensor* const> read);

/// Takes off the frames above the first `count`: those of calls that follow_modules() began end in
/// order, others are dropped.
void close_frames_above(Thread& thread, std::size_t count);

/// What a call of a known module is: "Conv2d::forward".
[[nodiscard]] const OpInfo& forward_of(std::uint32_t module);

/// Begins the call of a module that announces itself, with its tensor arguments in order.
void begin_module_call(Thread& thread, const OpInfo& info, std::uint32_t module,
                       std::uint64_t object, bool trusted,
                       std::span<const at::Tensor* const> given);

/// What the innermost call, one that announced itself, returns.
void module_call_returns(Thread& thread, std::span<const at::Tensor* const> returned);

/// Backward has reached a node with these gradients.
void backward_crosses(Thread& thread, const torch::autograd::Node& node,
                      c10::ArrayRef<const c10::IValue> gradients);

/// An optimizer's step that began at a position ends: parameters and buffers of the roots that
/// changed, but for those that other threads are changing.
void see_parameters(Thread& thread, std::uint64_t step);

/// The run ends: parameters and buffers of the roots that have changed since they were sent, or
/// that are in other memory.
void see_parameters_left(Thread& thread);

/// Before each root's next forward its parameters and buffers are sent again.
void tell_roots_again();

void lock_module_calls();  ///< for fork()
void unlock_module_calls();

}  // namespace ulpscope::capture
