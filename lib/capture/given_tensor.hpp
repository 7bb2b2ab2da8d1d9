#pragma once

#include <ATen/core/Tensor.h>

namespace ulpscope::capture {

/// A tensor of the program by its address, held as long as what this returns.
/// @param address of one that lives
[[nodiscard]] inline at::Tensor given_tensor(const at::TensorImpl* address) {
  using Held = c10::intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>;
  return at::Tensor(Held::unsafe_reclaim_from_nonowning(const_cast<at::TensorImpl*>(address)));
}

}  // namespace ulpscope::capture
