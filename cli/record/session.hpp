#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dump/recording.hpp"
#include "ring/server_options.hpp"

namespace ulpscope::cli {

class RankRecorder;

struct RecordOptions {
  std::filesystem::path dump;  ///< empty: runs/PROGRAM-N
  std::vector<std::string> command;
  ring::Settings settings;
  std::vector<std::string> redact;    ///< globs of what to mask in settings and command line
  std::uint32_t segment_steps = 0;    ///< steps after which a segment is published; 0: only by size
  std::uint32_t segment_seconds = 0;  ///< likewise
  std::uint64_t segment_bytes = 0;    ///< of contents, likewise; 0: 256 MiB
  std::uint64_t max_bytes = 0;        ///< size of the dump at which contents of values end; 0: none
  std::uint32_t keep_last = 0;        ///< steps that the dump keeps; 0: all
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
  std::chrono::nanoseconds waited{0};  ///< for the writer, all threads together
};

/// Runs the command, writes what its processes record, and returns when the command and all
/// processes that it left behind have ended.
///
/// @throws Error if the command could not be started; CannotRun if it is not runnable.
[[nodiscard]] RecordResult record(const RecordOptions& options);

[[nodiscard]] std::string_view level_name(ring::Level level);

/// What status.json says during a recording. @param command as it may be stored, see
/// Redaction.
[[nodiscard]] dump::Status status_at_start(const RecordOptions& options,
                                           std::vector<std::string> command);

[[nodiscard]] ring::ServerOptions server_options(const RecordOptions& options);

/// How a rank of that recording is written in `directory`.
[[nodiscard]] dump::RecordingOptions recording_options(const RecordOptions& options,
                                                       const std::filesystem::path& directory,
                                                       const dump::Status& status);

/// Why what was recorded is not all, as one sentence; empty if it is.
[[nodiscard]] std::string incomplete_reason(const RankRecorder& ranks);

/// A status that cannot be written is reported, but must not affect the running program.
void write_status_if_possible(const std::filesystem::path& directory, const dump::Status& status);

/// "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps", or why not, as one line.
[[nodiscard]] std::string closing_line(const RecordResult& result);

}  // namespace ulpscope::cli
