#pragma once

#include <cstddef>

#include "preload/preload.h"

namespace ulpscope::capture {

/// Puts wrappers around the functions that the preloaded object exports: forwards of built-in
/// modules, optimizer steps, and the members of Module by which a program shows us its roots.
void interpose(const UlpscopeSymbol* symbols, std::size_t count);

/// The same for those of libtorch_cuda.so, which a program may open only when it first uses a
/// device.
void interpose_cuda();

}  // namespace ulpscope::capture
