#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// A recording whose steps are compared with those of a finished dump.
struct FollowOptions {
  std::function<int()> record;  ///< records in a process of its own; returns the exit code
  std::filesystem::path dump;   ///< where it records, publishing every step
  std::string reference;
  bool stop = false;  ///< stop the program where it diverges
};

struct FollowResult {
  int exit_code = 0;  ///< of the recording
  std::optional<Report> diverged;
  std::uint64_t steps = 0;  ///< that were compared while the program ran
  std::string failure;      ///< why steps were not compared any more; empty if they were
};

/// @param found called once, when the runs have diverged, with the eldest process that was stopped,
/// 0 if none was.
[[nodiscard]] FollowResult follow(const FollowOptions& options,
                                  const std::function<void(const Report&, pid_t)>& found);

}  // namespace ulpscope::cli
