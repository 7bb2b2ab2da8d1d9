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

/// No variable is known to hold anything.
void forget_variables();

/// A tensor that a variable of the program holds in the end. Of memory that no op has used nothing
/// is noted. Several variables of the same memory become one name ("x = y"), which is cut short by
/// "...".
void name_variable(const at::TensorImpl* tensor, std::string_view variable);

}  // namespace ulpscope::capture
