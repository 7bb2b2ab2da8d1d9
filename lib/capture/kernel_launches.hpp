#pragma once

/// Which kernels an op launches on a GPU: each launch is an event inside the op, named as the
/// kernel is. That is how another algorithm of a library that chooses one itself (cuDNN, cuBLAS)
/// shows.
namespace ulpscope::capture {

/// Has launches told from now on where the settings ask for it; says in the dump where that cannot
/// be done. Does nothing when they are told already.
void begin_kernel_launches();

}  // namespace ulpscope::capture
