#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>

/// What the program reports about itself: in a mapped file, which survives every ending and is not
/// subject to limits on files or descriptors.
namespace faults {

struct Progress {
  std::atomic<std::uint64_t> steps;  ///< complete
  std::atomic<std::uint64_t> ops;    ///< marked ones that have returned, of all processes
};

/// The file that the variable FAULTS_PROGRESS names, or private memory.
[[nodiscard]] Progress& progress();

/// Prints a line to standard output with one write(2), as printf() would format it.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

}  // namespace faults
