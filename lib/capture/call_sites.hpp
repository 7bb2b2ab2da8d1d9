#pragma once

#include <cstdint>

#include "capture/thread.hpp"

namespace ulpscope::capture {

/// The calls in the program, LibTorch's and the recorder's left out, that led to the current event:
/// an id in the thread's ring, 0 if there are none or they are not wanted.
[[nodiscard]] std::uint32_t call_site(Thread& thread);

}  // namespace ulpscope::capture
