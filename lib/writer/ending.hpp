#pragma once

#include <sys/wait.h>

namespace ulpscope::writer {

/// How a process ended.
struct Ending {
  int exit_code = 0;
  int signal = 0;  ///< 0: it exited

  /// 128 + signal where one ended it, as shells have it.
  [[nodiscard]] int shell_code() const noexcept { return signal == 0 ? exit_code : 128 + signal; }
};

/// Of what waitpid() says about a process that has ended.
[[nodiscard]] inline Ending ending_from(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? Ending{0, WTERMSIG(wait_status)}
                                  : Ending{WEXITSTATUS(wait_status), 0};
}

}  // namespace ulpscope::writer
