#pragma once

#include <signal.h>
#include <sys/types.h>

#include <vector>

namespace ulpscope::cli {

/// While it lives this process survives what the terminal sends, and passes on to the command what
/// other processes send. The terminal's own signals reach the command without help: it is in the
/// same process group. One at a time.
class SignalForwarder {
 public:
  SignalForwarder();
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;
  ~SignalForwarder();

  /// In the forked child before exec: the dispositions and mask that this process was started with.
  void restore_in_child() const noexcept;

  /// Signals are held back from construction until the command is known; 0 when it has ended.
  void set_command(pid_t pid) noexcept;

  /// The command has ended, and the user or another process requested that this one end too.
  [[nodiscard]] bool asked_to_end() const noexcept;

 private:
  struct Saved {
    int number;
    struct sigaction action;
  };

  std::vector<Saved> saved_;
  sigset_t saved_mask_{};
};

}  // namespace ulpscope::cli
