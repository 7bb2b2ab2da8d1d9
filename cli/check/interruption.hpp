#pragma once

#include <signal.h>

#include <array>

namespace ulpscope::cli {

/// While it lives SIGINT, SIGTERM and SIGHUP do not end this process but are remembered.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

 private:
  std::array<struct sigaction, 3> before_{};
};

/// The signal that asked this process to end, 0 if none did.
[[nodiscard]] int interrupted() noexcept;

}  // namespace ulpscope::cli
