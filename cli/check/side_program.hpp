#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope::cli {

/// The processes that a process has started, and those that they have; the first is the eldest.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t process);
/// Sends them a signal. Those that may wait for others are the first to stop and the last
/// to go on.
void send_to_descendants_of(pid_t process, int signal) noexcept;

/// A program that runs beside this one, in the same terminal.
class SideProgram {
 public:
  /// @param output a file for what it prints; empty: where this process prints.
  /// @throws Error with ErrorCode::io if it cannot be run.
  explicit SideProgram(const std::vector<std::string>& command, const std::string& output = {});
  /// A part of this program, which returns its exit code, in a process of its own. This process
  /// must have one thread. If a signal ends that process, those that it has stopped go on.
  /// @throws Error with ErrorCode::io if no process could be created.
  explicit SideProgram(const std::function<int()>& run);
  SideProgram(const SideProgram&) = delete;
  SideProgram& operator=(const SideProgram&) = delete;
  /// Ends it if it still runs.
  ~SideProgram();

  /// Waits until it ends, at most so long. Its exit code, 128 + signal if a signal ended it; empty
  /// while it runs.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds at_most);

  void send(int signal) const noexcept;
  /// The processes that it has started, and those that they have; the first is the eldest.
  [[nodiscard]] std::vector<pid_t> descendants() const;
  /// SIGSTOP or SIGCONT to all of them, not to it.
  void send_to_descendants(int signal) const noexcept;

 private:
  pid_t pid_ = 0;
  std::optional<int> ended_;
};

}  // namespace ulpscope::cli
