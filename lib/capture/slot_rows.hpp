#pragma once

#include <ATen/core/Tensor.h>

#include "capture/storage_table.hpp"
#include "capture/thread.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {

/// A slot that says what a tensor is, nothing of its content.
[[nodiscard]] ring::SlotRow blank(Thread& thread, const at::Tensor& tensor, Place place);

/// Says which memory it is.
void identify(Thread& thread, const Storage& storage, Seen& seen);

/// Says what is known of the content. Holding the lock of the storages.
void tell(Region& region, ring::SlotRow& row);

}  // namespace ulpscope::capture
