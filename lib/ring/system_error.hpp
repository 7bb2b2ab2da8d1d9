#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "ulpscope/error.hpp"

namespace ulpscope::ring {

/// The Error for a system call that has just failed: `what` and what errno means.
[[nodiscard]] inline Error system_error(const std::string& what) {
  return {ErrorCode::io, what + ": " + std::generic_category().message(errno)};
}

}  // namespace ulpscope::ring
