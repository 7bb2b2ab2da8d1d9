#pragma once

#include <sys/types.h>

#include <vector>

namespace ulpscope::cli {

/// Which processes were stopped from here, in memory that this process shares with those that it
/// starts by fork(). A process that was stopped before, by itself or by a user, is left alone.
class HeldProcesses {
 public:
  /// @throws Error with ErrorCode::io if there is no memory.
  HeldProcesses();
  HeldProcesses(const HeldProcesses&) = delete;
  HeldProcesses& operator=(const HeldProcesses&) = delete;
  ~HeldProcesses();

  /// Stops all that `creator` has started, and what they have, those that may wait for others
  /// first.
  void hold(pid_t creator) noexcept;
  /// Those among them that hold() has stopped go on, in the reverse order.
  void let_go(pid_t creator) noexcept;
  /// Those among them that hold() has stopped.
  [[nodiscard]] std::vector<pid_t> held(pid_t creator) const;

 private:
  struct Table;

  Table* table_;
};

}  // namespace ulpscope::cli
