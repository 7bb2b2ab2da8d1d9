#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/record/signals.hpp"
#include "writer/ending.hpp"

namespace ulpscope::cli {

using writer::Ending;

/// The command and every process that it leaves behind: orphans of the tree become children of this
/// process.
class ProcessTree {
 public:
  explicit ProcessTree(SignalForwarder& signals);

  /// Starts `arguments` with the `variables` set in its environment, in this process group, with
  /// the standard streams, directory and signals that this process was started with. Returns 0, or
  /// the errno if it could not be executed.
  /// @throws Error with ErrorCode::io if no process could be created.
  [[nodiscard]] int start(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& variables);

  /// Collects the processes that ended. Stops this process when the command was stopped from the
  /// terminal, so that the shell gets it back, and returns when both continue.
  void reap();

  [[nodiscard]] bool command_ended() const noexcept { return ending_.has_value(); }
  /// Of the command, once it ended.
  [[nodiscard]] const std::optional<Ending>& ending() const noexcept { return ending_; }
  /// Of any process that was collected.
  [[nodiscard]] std::optional<Ending> ending_of(pid_t pid) const;
  /// No process of the tree is left.
  [[nodiscard]] bool empty() const noexcept { return empty_; }

 private:
  void collect(pid_t pid);
  void follow_stop(pid_t pid, int signal);

  SignalForwarder& signals_;
  pid_t command_ = 0;
  std::optional<Ending> ending_;
  std::unordered_map<pid_t, Ending> endings_;
  bool empty_ = false;
};

}  // namespace ulpscope::cli
