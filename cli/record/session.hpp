#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dump/recording.hpp"
#include "ring/settings.hpp"

namespace ulpscope::cli {

struct RecordOptions {
  std::filesystem::path dump;  ///< empty: runs/PROGRAM-N
  std::vector<std::string> command;
  ring::Settings settings;
  std::vector<std::string> redact;  ///< globs of what is masked in settings and command line
  std::uint64_t max_bytes = 0;      ///< size of the dump at which contents of values end; 0: none
  bool require = false;
  bool force = false;
};

/// What a recording left behind, for the closing line.
struct RecordResult {
  int exit_code = 0;  ///< the command's, 128 + signal where one ended it
  std::filesystem::path dump;
  dump::Status status;
  std::uint64_t bytes_on_disk = 0;
  std::uint64_t verified_bytes = 0;
  std::uint64_t stalls = 0;
  std::uint64_t stalled_milliseconds = 0;
};

/// Runs the command, writes what its processes record, and returns when the command and all it left
/// behind have ended.
///
/// @throws Error where the command could not be started; CannotRun where it is not runnable.
[[nodiscard]] RecordResult record(const RecordOptions& options);

/// "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps", or why not, as one line.
[[nodiscard]] std::string closing_line(const RecordResult& result);

}  // namespace ulpscope::cli
