#pragma once

/// Which kernels an op launches on a GPU: each launch is an event inside the op, with the kernel's
/// name. This shows when a library that chooses its algorithm itself (cuDNN, cuBLAS) uses a
/// different one.
namespace ulpscope::capture {

/// Observes launches from now on if the settings request it; says in the dump if that is not
/// possible. Does nothing if they are already observed.
void begin_kernel_launches();

}  // namespace ulpscope::capture
