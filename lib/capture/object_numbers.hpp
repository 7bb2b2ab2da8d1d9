#pragma once

#include <cstdint>

namespace ulpscope::capture {

/// Numbers the program's objects from 1: which optimizer, which module, which group of ranks, which
/// generator. Thread-safe.

/// The number of the object at an address.
[[nodiscard]] std::uint64_t object_number(const void* object);
/// A number that no object has.
[[nodiscard]] std::uint64_t new_object_number();
/// Another object begins at this address, which gets a number of its own.
void object_begins(const void* object);

/// fork() copies the lock of this table.
void lock_object_numbers();
void unlock_object_numbers();

}  // namespace ulpscope::capture
