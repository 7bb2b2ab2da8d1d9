#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/status.hpp"
#include "ring/server.hpp"
#include "ring/settings.hpp"
#include "writer/dump_directory.hpp"
#include "writer/rank_recorder.hpp"
#include "writer/stages/content_limit.hpp"
#include "writer/stages/redaction.hpp"

namespace ulpscope::writer {

/// What one recording writes, and where.
struct SessionOptions {
  std::filesystem::path dump;  ///< empty: runs/PROGRAM-N
  std::vector<std::string> command;
  std::string creator;  ///< "ulpscope 1.0.0"
  ring::Settings settings;
  std::vector<std::string> redact;    ///< globs of what to mask in settings and command line
  std::uint32_t segment_steps = 0;    ///< steps after which a segment is published; 0: only by size
  std::uint32_t segment_seconds = 0;  ///< likewise
  std::uint64_t segment_bytes = 0;    ///< of contents, likewise; 0: 256 MiB
  std::uint64_t max_bytes = 0;        ///< size of the dump at which contents of values end; 0: none
  std::uint32_t keep_last = 0;        ///< steps that the dump keeps; 0: all
  bool force = false;                 ///< replaces the dump that is there
  Watch watch = {};
};

/// One recording: the socket that processes connect to, their rings, and the dump that what arrives
/// is written to.
class Session {
 public:
  /// @throws Error if the dump or the socket cannot be created.
  Session(const SessionOptions& options, EndingOf ending_of);

  /// As a user knows it; the session itself does not depend on the working directory.
  [[nodiscard]] const std::filesystem::path& dump() const noexcept { return directory_.path(); }
  /// Where processes connect.
  [[nodiscard]] std::filesystem::path socket() const { return server_->socket_path(); }

  /// Writes what has arrived; waits for something at most that long. False if there was nothing.
  bool poll(std::chrono::milliseconds at_most) { return server_->poll(at_most, ranks_); }
  /// Processes that are being recorded.
  [[nodiscard]] std::size_t live_sessions() const { return server_->live_sessions(); }
  /// At least one process has connected.
  [[nodiscard]] bool anybody_came() const { return !server_->stats().empty(); }
  [[nodiscard]] dump::RecordingCounts counts() const { return ranks_.counts(); }

  /// Ends the recording of every process that still runs; `why` becomes the reason.
  void end_all(const std::string& why);
  /// What is written from now on would not be all; `why` becomes the reason.
  void fail(std::string why) { failure_ = std::move(why); }
  [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }
  /// Nothing can be recorded any more: processes notice and continue unrecorded.
  void disconnect();

  /// When all processes have ended: numbers the ranks and completes status.json. If nothing was
  /// recorded, the status has no reason unless something is known to have gone wrong.
  /// @param exit_code of the command, if it is known.
  [[nodiscard]] dump::Status finish(std::optional<int> exit_code);
  /// Writes it, with how long which threads waited for the disk.
  /// @throws Error
  void write(dump::Status status) const;

  /// Bytes of inputs that the program digested again.
  [[nodiscard]] std::uint64_t verified_bytes() const { return ranks_.verified_bytes(); }
  /// How long the program's threads waited for the disk, all together.
  [[nodiscard]] std::chrono::nanoseconds waited() const;

 private:
  [[nodiscard]] std::string incomplete_reason() const;

  std::unique_ptr<ring::Server> server_;
  DumpDirectory directory_;     ///< unlocked before a program learns that its connection has ended
  std::filesystem::path path_;  ///< absolute
  Redaction redaction_;
  dump::Status status_;
  ContentBudget budget_;
  RankRecorder ranks_;
  std::vector<ring::SessionStats> stats_;  ///< when it was finished
  std::string failure_;
};

/// "digest", "stats" or "full".
[[nodiscard]] std::string_view level_name(ring::Level level);

}  // namespace ulpscope::writer
