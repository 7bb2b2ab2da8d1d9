#pragma once

#include "capture/value.hpp"

/// What value.hpp does for tensors whose bytes a device backend reads: their digests come later.
namespace ulpscope::capture {

[[nodiscard]] Seen see_read_on_device(Thread& thread, const at::Tensor& tensor, Place place,
                                      bool boundary);

[[nodiscard]] Seen see_written_on_device(Thread& thread, const at::Tensor& tensor, Place place,
                                         Writer writer, bool already_written,
                                         bool keeps_rest = false);

/// A tensor that an op may have written without declaring it: its slot is sent only if its content
/// turns out to be different.
[[nodiscard]] Seen see_perhaps_written_on_device(Thread& thread, const at::Tensor& tensor,
                                                 Place place, Writer writer);

}  // namespace ulpscope::capture
