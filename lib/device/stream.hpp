#pragma once

namespace ulpscope::device {

/// A `cudaStream_t`.
using Stream = void*;

}  // namespace ulpscope::device
