#pragma once

#include "capture/thread.hpp"

namespace ulpscope::capture {

/// Sends the settings of the process that have changed since they were last sent: all of them at
/// first, then flags, thread counts and seeds. An allow-list decides; nothing secret is on it.
void sample_environment(Thread& thread);

/// Intra-op threads as OpenMP has them now. Asks OpenMP itself: LibTorch's own question initialises
/// its thread pool as a side effect.
[[nodiscard]] int intra_op_threads();

}  // namespace ulpscope::capture
