#pragma once

#include <cstddef>

/// System calls of a program that a recorder must know about.
namespace ulpscope::capture {

/// Before prctl(2) with these arguments.
void before_prctl(unsigned long option, unsigned long mode, unsigned long filter) noexcept;

/// Calls of syscall(2) go through this, on to `*next`. Its last argument, which only some calls
/// have, is on the program's stack and is neither read nor written.
[[nodiscard]] void* system_call_wrapper(void** next) noexcept;

}  // namespace ulpscope::capture
