#pragma once

#include <cstdint>

#include "capture/thread.hpp"

namespace ulpscope::capture {

/// Whether they are wanted of the code that the calling thread runs.
[[nodiscard]] bool wants_call_sites() noexcept;

/// The calls in the program, LibTorch's and the recorder's left out, that led to the current event:
/// an id in the thread's ring, 0 if there are none.
[[nodiscard]] std::uint32_t call_site(Thread& thread);

}  // namespace ulpscope::capture
