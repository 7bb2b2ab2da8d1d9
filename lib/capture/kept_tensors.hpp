#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace ulpscope::capture {

/// Gradients lose their names: those that parameters have now are named again.
void forget_gradient_names();

/// A tensor that a parameter or an optimizer keeps.
/// @param tensor alive during the call
/// @param flag slot_flag::gradient or optimizer_state
/// @param module that owns the parameter
void name_kept(const at::TensorImpl* tensor, std::string_view name, std::uint32_t flag,
               std::uint32_t module);

}  // namespace ulpscope::capture
