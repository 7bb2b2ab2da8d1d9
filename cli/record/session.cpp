#include "cli/record/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/exit.hpp"
#include "cli/record/cannot_run.hpp"
#include "cli/record/dump_directory.hpp"
#include "cli/record/executable.hpp"
#include "cli/record/inlined_calls.hpp"
#include "cli/record/libraries.hpp"
#include "cli/record/patience.hpp"
#include "cli/record/processes.hpp"
#include "cli/record/rank_recorder.hpp"
#include "cli/record/record_settings.hpp"
#include "cli/record/redaction.hpp"
#include "cli/record/signals.hpp"
#include "cli/record/symboliser.hpp"
#include "cli/term/numbers.hpp"
#include "cli/term/say.hpp"
#include "cli/version.hpp"
#include "preload/seccomp_filters.h"
#include "ring/server.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kPollTime = 50ms;

/// What is known before the start about why the command will not be recorded; empty if nothing.
std::string known_obstacle(const RecordOptions& options, const Executable& executable,
                           const RecordingLibraries& libraries) {
  const std::string& program = options.command.front();
  if (executable.obstacle != Obstacle::none) {
    return fmt::format("'{}' cannot be entered: {}", program, in_words(executable.obstacle));
  }
  if (libraries.capture.empty()) {
    return fmt::format("there is no capture library in '{}'", libraries.capture_directory.string());
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> recording_variables(
    const RecordingLibraries& libraries, const ring::Server& server) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preloaded =
      before == nullptr || *before == '\0' ? "" : fmt::format(":{}", before);
  return {{"LD_PRELOAD", libraries.preload.string() + preloaded},
          {"ULPSCOPE_SOCKET", server.socket_path().string()},
          {"ULPSCOPE_SECCOMP_FILTERS", std::to_string(ulpscope_seccomp_filters())},
          {"ULPSCOPE_CAPTURE_LIBRARY", libraries.capture_directory.string()}};
}

std::string reason_for_nothing(const RankRecorder& ranks, const Executable& executable,
                               const RecordingLibraries& libraries, const std::string& obstacle) {
  if (!obstacle.empty()) return obstacle;
  if (const std::string reason = incomplete_reason(ranks); !reason.empty()) return reason;
  if (executable.needs_torch) {
    std::vector<std::string> versions;
    for (const CaptureLibrary& library : libraries.capture) {
      versions.push_back(library.torch_version);
    }
    return fmt::format("no capture library fits its LibTorch; there is one for {}",
                       fmt::join(versions, ", "));
  }
  return "no process of it loaded LibTorch before start";
}

/// Delivers what is recorded until the command and all processes that it left behind have ended.
void serve(const RecordOptions& options, const fs::path& dump, ring::Server& server,
           RankRecorder& ranks, ProcessTree& processes, const SignalForwarder& signals) {
  const bool keeps_bytes = options.settings.level == ring::Level::full;
  Patience patience(options.command.front(),
                    keeps_bytes
                        ? std::optional<CostEstimate>(
                              std::in_place, dump, step_count(options.settings), options.max_bytes)
                        : std::nullopt);
  for (;;) {
    processes.reap();
    if (signals.asked_to_end()) {
      ranks.end_all("the recording was ended before the processes that the command left behind");
      while (server.live_sessions() != 0) server.poll(kPollTime, ranks);
      return;
    }
    if (processes.empty() && server.live_sessions() == 0) {
      while (server.poll(0ms, ranks)) {
      }
      return;
    }
    server.poll(kPollTime, ranks);
    if (processes.command_ended())
      patience.command_has_ended(ranks.counts());
    else
      patience.command_runs(ranks.counts());
  }
}

/// Stays the command's parent when nothing can be recorded any more.
void wait_unrecorded(ProcessTree& processes, const SignalForwarder& signals) {
  for (;;) {
    processes.reap();
    if (processes.empty() || signals.asked_to_end()) return;
    std::this_thread::sleep_for(kPollTime);
  }
}

/// Steps as the dump counts them: setup is -1, and belongs to a range that begins at 0.
void set_window(const ring::Settings& settings, dump::RecordingOptions& recording) {
  constexpr std::int64_t kSetupStep = -1;
  const auto at_most = static_cast<std::uint64_t>(recording.last_step);
  const bool only_setup = settings.last_step < settings.first_step;
  const bool from_setup = only_setup || settings.first_step == 0;
  recording.first_step =
      from_setup ? kSetupStep : static_cast<std::int64_t>(std::min(settings.first_step, at_most));
  recording.last_step =
      only_setup ? kSetupStep : static_cast<std::int64_t>(std::min(settings.last_step, at_most));
}

/// What to do about a command that execvp() rejected with `reason`.
std::string hint_for(const std::string& program, int reason) {
  std::error_code ignored;
  const bool has_path = program.find('/') != std::string::npos;
  if (fs::is_directory(program, ignored)) return "it is a directory; name a program in it";
  if (reason == ENOENT && has_path && fs::exists(program, ignored)) {
    return "its first line or its header names an interpreter that is not there";
  }
  if (reason == ENOENT && !has_path && fs::exists(program, ignored)) {
    return fmt::format("a program in this directory is ./{}", program);
  }
  if (reason == ENOENT) return has_path ? "check the path" : "check the name and PATH";
  if (reason == EACCES) return fmt::format("chmod +x {} makes a program of it", program);
  if (reason == ENOEXEC) return "it is no program for this machine";
  return {};
}

[[noreturn]] void refuse_to_run(const fs::path& directory, const std::string& program, int reason) {
  std::error_code ignored;
  fs::remove(directory / "status.json", ignored);
  fs::remove(directory, ignored);
  throw CannotRun(
      fmt::format("'{}' cannot be run: {}", program, std::generic_category().message(reason)),
      hint_for(program, reason), reason == ENOENT ? Exit::not_found : Exit::cannot_execute);
}

}  // namespace

dump::Status status_at_start(const RecordOptions& options, std::vector<std::string> command) {
  dump::Status status;
  status.run = dump::new_run_id();
  status.command = std::move(command);
  status.level = level_name(options.settings.level);
  status.reason = "the recording has not ended";
  return status;
}

ring::ServerOptions server_options(const RecordOptions& options) {
  ring::ServerOptions server;
  server.settings = options.settings;
  server.look_up_inlined = [reader = std::make_shared<InlinedCallReader>()](
                               auto object, auto address, auto& answer) {
    reader->read(object, address, answer);
  };
  return server;
}

dump::RecordingOptions recording_options(const RecordOptions& options, const fs::path& directory,
                                         const dump::Status& status) {
  dump::RecordingOptions recording;
  recording.directory = directory;
  recording.run = status.run;
  recording.command = status.command;
  recording.level = status.level;
  recording.creator = fmt::format("ulpscope {}", kVersion);
  recording.keep_last = options.keep_last;
  recording.segment_steps = options.segment_steps;
  recording.segment_seconds = options.segment_seconds;
  if (options.segment_bytes != 0) recording.segment_bytes = options.segment_bytes;
  set_window(options.settings, recording);
  if (options.settings.stacks != 0) {
    recording.resolve_frame = [names = std::make_shared<Symboliser>()](auto object, auto offset) {
      return (*names)(object, offset);
    };
  }
  return recording;
}

std::string_view level_name(ring::Level level) {
  switch (level) {
    case ring::Level::digest:
      return "digest";
    case ring::Level::stats:
      return "stats";
    case ring::Level::full:
      return "full";
  }
  return "digest";
}

std::string incomplete_reason(const RankRecorder& ranks) {
  std::vector<std::string> reasons = ranks.shortcomings();
  reasons.insert(reasons.end(), ranks.refusals().begin(), ranks.refusals().end());
  if (reasons.empty()) return {};
  if (reasons.size() == 1) return reasons.front();
  return fmt::format("{} (and {} more)", reasons.front(), reasons.size() - 1);
}

void write_status_if_possible(const fs::path& directory, const dump::Status& status) {
  try {
    dump::write_status(directory, status);
  } catch (const Error& error) {
    say(fmt::format("ulpscope: note: {}", error.what()));
  }
}

RecordResult record(const RecordOptions& options) {
  const std::string& program = options.command.front();
  const std::optional<fs::path> file = find_executable(program);
  const Executable executable = file ? inspect_executable(*file) : Executable{};
  const RecordingLibraries libraries = find_recording_libraries();
  const std::string obstacle = known_obstacle(options, executable, libraries);
  if (options.require && !obstacle.empty()) {
    throw Error(ErrorCode::usage, obstacle, "without --require it runs unrecorded");
  }

  auto server = std::make_unique<ring::Server>(server_options(options));
  RecordResult result;
  const DumpDirectory directory(options.dump, fs::path(program).filename().string(), options.force);
  result.dump = directory.path();
  dump::Status& status = result.status;
  const Redaction redaction(options.redact);
  status = status_at_start(options, redaction.command(options.command));
  dump::write_status(result.dump, status);

  SignalForwarder signals;
  ProcessTree processes(signals);
  ContentBudget budget(result.dump, options.max_bytes);
  RankRecorder ranks(recording_options(options, result.dump, status), redaction, budget, *server,
                     [&processes](pid_t pid) {
                       processes.reap();
                       return processes.ending_of(pid);
                     });

  const bool enter = executable.obstacle == Obstacle::none;
  using Variables = std::vector<std::pair<std::string, std::string>>;
  const int reason = processes.start(options.command,
                                     enter ? recording_variables(libraries, *server) : Variables{});
  if (reason != 0) refuse_to_run(result.dump, program, reason);
  std::string failure;
  std::vector<ring::SessionStats> sessions;
  try {
    serve(options, result.dump, *server, ranks, processes, signals);
    sessions = server->stats();
    if (!server->reachable()) ranks.on_unreachable();
    if (server->anybody_shut_out()) ranks.on_shut_out();
  } catch (const std::exception& error) {
    failure = error.what();
    server.reset();  // the programs notice and continue unrecorded
    wait_unrecorded(processes, signals);
  }

  if (processes.ending()) result.exit_code = processes.ending()->shell_code();
  status.exit_code = result.exit_code;
  if (failure.empty()) ranks.number_ranks();
  status.ranks = ranks.ranks();
  status.last_segments = ranks.last_segments();
  status.counts = ranks.counts();
  status.recorded = !status.ranks.empty();
  status.reason = !failure.empty()  ? failure
                  : status.recorded ? incomplete_reason(ranks)
                                    : reason_for_nothing(ranks, executable, libraries, obstacle);
  status.complete = status.recorded && status.reason.empty();
  status.notes = ranks.notes();
  dump::Status written = status;  // which says of each thread what the closing line says of all
  std::ranges::move(ranks.waits(sessions), std::back_inserter(written.notes));
  write_status_if_possible(result.dump, written);

  result.bytes_on_disk = bytes_on_disk(result.dump);
  result.verified_bytes = ranks.verified_bytes();
  for (const ring::SessionStats& session : sessions) result.waited += session.stalled;
  return result;
}

std::string closing_line(const RecordResult& result) {
  const dump::Status& status = result.status;
  if (!status.recorded) return fmt::format("note: the command ran unrecorded: {}", status.reason);

  std::vector<std::string> parts{
      counted(status.counts.events, "event"), counted(status.counts.values, "value"),
      byte_size(result.bytes_on_disk), counted(status.counts.steps, "step")};
  if (status.ranks.size() > 1) parts.push_back(counted(status.ranks.size(), "rank"));
  if (result.verified_bytes != 0) {
    parts.push_back(fmt::format("{} verified", byte_size(result.verified_bytes)));
  }
  if (result.waited >= 1ms) {
    parts.push_back(fmt::format("waited {} for the disk", duration(result.waited)));
  }
  std::string line = fmt::format("recorded {}: {}", result.dump.string(), fmt::join(parts, ", "));
  for (const std::string& note : status.notes) line += fmt::format("; {}", note);
  if (!status.complete) {
    const std::string_view reason = status.reason;
    line += fmt::format("; incomplete: {}", reason.substr(0, reason.find_last_not_of('.') + 1));
  }
  return line;
}

}  // namespace ulpscope::cli
