#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "dump/status.hpp"
#include "writer/session.hpp"

namespace ulpscope::cli {

struct RecordOptions : writer::SessionOptions {
  bool require = false;  ///< fail if the program is known not to be recordable
  /// Called after each round in which what has come was written. Returns how long the next may
  /// wait for something to come.
  std::function<std::chrono::milliseconds(writer::Session&)> after_round = {};
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

/// A status that cannot be written is reported, but must not affect the running program.
void write_if_possible(const writer::Session& session, const dump::Status& status);

/// "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps", or why not, as one line.
[[nodiscard]] std::string closing_line(const RecordResult& result);

}  // namespace ulpscope::cli
