#pragma once

#include <cstdint>

namespace ulpscope::capture {

/// Numbers the program's objects by address, from 1: which optimizer, which module, which group of
/// ranks, which generator. Thread-safe.
[[nodiscard]] std::uint64_t object_number(const void* object);

}  // namespace ulpscope::capture
