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

#include "cli/base/exit.hpp"
#include "cli/record/cannot_run.hpp"
#include "cli/record/executable.hpp"
#include "cli/record/libraries.hpp"
#include "cli/record/missing_libraries.hpp"
#include "cli/record/patience.hpp"
#include "cli/record/processes.hpp"
#include "cli/record/record_settings.hpp"
#include "cli/record/signals.hpp"
#include "cli/term/say.hpp"
#include "core/counts.hpp"
#include "preload/seccomp_filters.h"
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
    const RecordingLibraries& libraries, const fs::path& socket) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preloaded =
      before == nullptr || *before == '\0' ? "" : fmt::format(":{}", before);
  return {{"LD_PRELOAD", libraries.preload.string() + preloaded},
          {"ULPSCOPE_SOCKET", socket.string()},
          {"ULPSCOPE_SECCOMP_FILTERS", std::to_string(ulpscope_seccomp_filters())},
          {"ULPSCOPE_CAPTURE_LIBRARY", libraries.capture_directory.string()}};
}

/// Why the loader ended a command before it began; empty if it did not.
std::string loading_failure(const RecordOptions& options, const Executable& executable,
                            int exit_code) {
  const std::string& program = options.command.front();
  const std::optional<fs::path> file = find_executable(program);
  if (exit_code != static_cast<int>(Exit::not_found) || executable.loader.empty() || !file)
    return {};
  const std::vector<std::string> missing = missing_libraries(executable.loader, *file);
  if (missing.empty()) return {};
  constexpr std::size_t kMostNamed = 3;
  std::string names = fmt::format(
      "{}",
      fmt::join(missing.begin(), missing.begin() + std::min(missing.size(), kMostNamed), ", "));
  if (missing.size() > kMostNamed)
    names += fmt::format(" and {} more", missing.size() - kMostNamed);
  return fmt::format(
      "'{}' did not start, the loader does not find {}; LD_LIBRARY_PATH can name the folder",
      program, names);
}

std::string reason_for_nothing(const std::string& known, const Executable& executable,
                               const RecordingLibraries& libraries, const std::string& obstacle) {
  if (!obstacle.empty()) return obstacle;
  if (!known.empty()) return known;
  std::vector<std::string> versions;
  for (const CaptureLibrary& library : libraries.capture) versions.push_back(library.torch_version);
  if (executable.needs_torch)
    return fmt::format("no capture library fits its LibTorch; there is one for {}",
                       fmt::join(versions, ", "));
  // Another one, which Python or a plugin loads later, is not seen.
  return fmt::format(
      "no process of it computed anything with LibTorch {} (there is no capture library for other "
      "versions)",
      fmt::join(versions, " or "));
}

/// Delivers what is recorded until the command and all processes that it left behind have ended.
void serve(const RecordOptions& options, writer::Session& session, ProcessTree& processes,
           const SignalForwarder& signals) {
  const bool keeps_bytes = options.settings.level == ring::Level::full;
  Patience patience(
      options.command.front(),
      keeps_bytes ? std::optional<CostEstimate>(std::in_place, session.dump(),
                                                step_count(options.settings), options.max_bytes)
                  : std::nullopt);
  std::chrono::milliseconds wait = kPollTime;
  for (;;) {
    processes.reap();
    if (signals.asked_to_end()) {
      session.end_all("the recording was ended before the processes that the command left behind");
      while (session.live_sessions() != 0) session.poll(kPollTime);
      return;
    }
    if (processes.empty() && session.live_sessions() == 0) {
      while (session.poll(0ms)) {
      }
      return;
    }
    session.poll(wait);
    if (options.after_round) wait = std::min(kPollTime, options.after_round(session));
    if (processes.command_ended())
      patience.command_has_ended(session.counts());
    else
      patience.command_runs(session.counts());
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

void write_if_possible(const writer::Session& session, const dump::Status& status) {
  try {
    session.write(status);
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

  SignalForwarder signals;
  ProcessTree processes(signals);
  writer::Session session(options, [&processes](pid_t pid) {
    processes.reap();
    return processes.ending_of(pid);
  });
  const bool enter = executable.obstacle == Obstacle::none;
  using Variables = std::vector<std::pair<std::string, std::string>>;
  const int reason = processes.start(
      options.command, enter ? recording_variables(libraries, session.socket()) : Variables{});
  if (reason != 0) refuse_to_run(session.dump(), program, reason);
  try {
    serve(options, session, processes, signals);
  } catch (const std::exception& error) {
    session.fail(error.what());
    session.disconnect();
    wait_unrecorded(processes, signals);
  }

  RecordResult result;
  if (processes.ending()) result.exit_code = processes.ending()->shell_code();
  result.status = session.finish(result.exit_code);
  if (!result.status.recorded && !session.failed()) {
    const std::string unstarted = loading_failure(options, executable, result.exit_code);
    result.status.reason = unstarted.empty() ? reason_for_nothing(result.status.reason, executable,
                                                                  libraries, obstacle)
                                             : unstarted;
  }
  write_if_possible(session, result.status);
  result.dump = session.dump();
  result.bytes_on_disk = writer::bytes_on_disk(result.dump);
  result.verified_bytes = session.verified_bytes();
  result.waited = session.waited();
  return result;
}

std::string closing_line(const RecordResult& result) {
  const dump::Status& status = result.status;
  if (!status.recorded) return fmt::format("note: the command ran unrecorded: {}", status.reason);

  std::vector<std::string> parts{
      core::counted(status.counts.events, "event"), core::counted(status.counts.values, "value"),
      core::byte_size(result.bytes_on_disk), core::counted(status.counts.steps, "step")};
  if (status.ranks.size() > 1) parts.push_back(core::counted(status.ranks.size(), "rank"));
  if (result.verified_bytes != 0) {
    parts.push_back(fmt::format("{} verified", core::byte_size(result.verified_bytes)));
  }
  if (result.waited >= 1ms) {
    parts.push_back(fmt::format("waited {} for the disk", core::duration(result.waited)));
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
