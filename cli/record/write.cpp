#include "cli/record/write.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <optional>

#include "cli/record/dump_directory.hpp"
#include "cli/record/rank_recorder.hpp"
#include "cli/record/redaction.hpp"
#include "cli/record/signals.hpp"
#include "ring/server.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kWriterPollTime = 50ms;
constexpr std::chrono::seconds kIntroduction = 30s;  // in which the program introduces itself

struct Opened {
  explicit Opened(const RecordOptions& options)
      : server(server_options(options)),
        directory(options.dump, fs::path(options.command.front()).filename(), options.force),
        dump(fs::absolute(directory.path())) {}

  ring::Server server;
  DumpDirectory directory;  ///< free again before the program learns that the dump is complete
  fs::path dump;            ///< absolute
};

/// The program waits for these lines and for the end of the stream.
void tell_program(const Opened& opened) {
  fmt::print("ready\n{}\n{}\n", opened.server.socket_path().string(), opened.dump.string());
  std::fflush(stdout);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) throw Error(ErrorCode::io, "/dev/null cannot be opened");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  close(nowhere);
  [[maybe_unused]] const int moved = chdir("/");  // staying would keep that file system busy
}

/// Delivers what is recorded until the program has left or ended. Returns why the recording is
/// incomplete.
std::string serve(ring::Server& server, RankRecorder& ranks, const SignalForwarder& signals) {
  const Clock::time_point give_up = Clock::now() + kIntroduction;
  for (;;) {
    server.poll(kWriterPollTime, ranks);
    if (signals.asked_to_end()) {
      ranks.end_all("the process that writes the dump was asked to end");
      while (server.live_sessions() != 0) server.poll(kWriterPollTime, ranks);
      return {};
    }
    if (server.live_sessions() != 0) continue;
    if (!server.stats().empty()) return {};
    if (Clock::now() > give_up) return "the program did not introduce itself";
  }
}

}  // namespace

void write(const RecordOptions& options) {
  Opened opened(options);
  const Redaction redaction(options.redact);
  dump::Status status = status_at_start(options, redaction.command(options.command));
  dump::write_status(opened.dump, status);

  SignalForwarder signals;
  signals.set_command(0);
  ContentBudget budget(opened.dump, options.max_bytes);
  RankRecorder ranks(recording_options(options, opened.dump, status), redaction, budget,
                     opened.server, [](pid_t) { return std::optional<Ending>(); });

  tell_program(opened);
  std::string failure;
  try {
    failure = serve(opened.server, ranks, signals);
    if (!opened.server.reachable()) ranks.on_unreachable();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) ranks.number_ranks();
  status.ranks = ranks.ranks();
  status.last_segments = ranks.last_segments();
  status.counts = ranks.counts();
  status.recorded = !status.ranks.empty();
  status.reason = failure.empty() ? incomplete_reason(ranks) : failure;
  status.notes = ranks.notes();
  std::ranges::move(ranks.waits(opened.server.stats()), std::back_inserter(status.notes));
  status.complete = status.recorded && status.reason.empty();
  write_status_if_possible(opened.dump, status);
}

}  // namespace ulpscope::cli
