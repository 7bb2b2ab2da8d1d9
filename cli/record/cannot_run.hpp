#pragma once

#include <string>

#include "cli/base/exit.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {

/// The command of `record` is not runnable; `env` has separate exit codes for that.
class CannotRun : public Error {
 public:
  CannotRun(const std::string& message, const std::string& hint, Exit code)
      : Error(ErrorCode::io, message, hint), exit_(code) {}
  [[nodiscard]] Exit exit() const noexcept { return exit_; }

 private:
  Exit exit_;
};

}  // namespace ulpscope::cli
