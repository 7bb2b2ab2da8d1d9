#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "cli/check/held_processes.hpp"

namespace ulpscope::cli {

/// The processes that a process has started, and those that they have; the first is the eldest, and
/// those that may wait for others come before them.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t process);

/// A part of this program that runs beside this process, in the same terminal.
class SideProgram {
 public:
  /// Runs it in a process of its own, whose exit code it returns. This process must have one
  /// thread. If a signal ends that process, those that it has stopped go on.
  /// @throws Error with ErrorCode::io if no process could be created.
  explicit SideProgram(const std::function<int(HeldProcesses&)>& run);
  SideProgram(const SideProgram&) = delete;
  SideProgram& operator=(const SideProgram&) = delete;
  /// Ends it if it still runs.
  ~SideProgram();

  /// Waits until it ends, at most so long. Its exit code, 128 + signal if a signal ended it; empty
  /// while it runs.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds at_most);

  void send(int signal) const noexcept;
  /// To all of them, not to it.
  void send_to_descendants(int signal) const noexcept;
  /// Stops them.
  void hold() noexcept;
  /// Those that hold(), or that process, has stopped go on.
  void let_go() noexcept;
  [[nodiscard]] std::vector<pid_t> held() const { return held_.held(pid_); }

 private:
  HeldProcesses held_;
  pid_t pid_ = 0;
  std::optional<int> ended_;
};

}  // namespace ulpscope::cli
