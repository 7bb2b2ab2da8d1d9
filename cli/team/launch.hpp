#pragma once

#include <cstdint>

namespace ulpscope::cli {

/// As one of how many processes this one was started. Reads only the environment that an MPI
/// launcher sets: a program that is started alone does not use MPI.
struct Launch {
  std::uint32_t size = 1;
  std::uint32_t member = 0;

  [[nodiscard]] bool alone() const noexcept { return size < 2; }
  /// Of several the first one speaks.
  [[nodiscard]] bool speaks() const noexcept { return member == 0; }
};

/// By Open MPI, or by a launcher that speaks PMI (MPICH, Intel MPI).
[[nodiscard]] Launch launch();

/// The one that speaks says so and ends with Exit::trouble when the launcher ends all, which it
/// does when one of them failed or was killed.
void answer_end_of_all() noexcept;

/// From here on standard output is discarded.
void silence_output();

}  // namespace ulpscope::cli
