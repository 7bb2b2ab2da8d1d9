#include "cli/record/write.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

#include "cli/record/signals.hpp"
#include "ulpscope/error.hpp"
#include "writer/session.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kWriterPollTime = 50ms;
constexpr std::chrono::seconds kIntroduction = 30s;  // in which the program introduces itself

/// The program waits for these lines and for the end of the stream.
void tell_program(const writer::Session& session) {
  fmt::print("ready\n{}\n{}\n", session.socket().string(), fs::absolute(session.dump()).string());
  std::fflush(stdout);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) throw Error(ErrorCode::io, "/dev/null cannot be opened");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  close(nowhere);
  [[maybe_unused]] const int moved = chdir("/");  // staying would keep that file system busy
}

/// Delivers what is recorded until the program has left or ended.
void serve(writer::Session& session, const SignalForwarder& signals) {
  const Clock::time_point give_up = Clock::now() + kIntroduction;
  for (;;) {
    session.poll(kWriterPollTime);
    if (signals.asked_to_end()) {
      session.end_all("the process that writes the dump was asked to end");
      while (session.live_sessions() != 0) session.poll(kWriterPollTime);
      return;
    }
    if (session.live_sessions() != 0) continue;
    if (session.anybody_came()) return;
    if (Clock::now() > give_up) return session.fail("the program did not introduce itself");
  }
}

}  // namespace

void write(const RecordOptions& options) {
  writer::Session session(options, [](pid_t) { return std::optional<writer::Ending>(); });
  SignalForwarder signals;
  signals.set_command(0);
  tell_program(session);
  try {
    serve(session, signals);
  } catch (const std::exception& error) {
    session.fail(error.what());
  }
  write_if_possible(session, session.finish(/*exit_code=*/std::nullopt));
}

}  // namespace ulpscope::cli
