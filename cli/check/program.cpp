#include "cli/check/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <string_view>
#include <system_error>

#include "cli/check/interruption.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostKept = std::size_t{64} << 10;
constexpr int kPollMilliseconds = 100;
constexpr std::chrono::seconds kGrace{10};  // before a program that was asked to end is killed

[[noreturn]] void fail(std::string_view what, int reason) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", what, std::generic_category().message(reason)));
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  void reset(int number = -1) noexcept {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor reading;
  Descriptor writing;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("no pipe for the program's output", errno);
    reading.reset(ends[0]);
    writing.reset(ends[1]);
  }
};

/// Takes everything that is in the pipe now, and closes it at its end.
void drain(Descriptor& pipe, std::string& end) {
  std::array<char, 1 << 14> buffer{};
  while (pipe.get() >= 0) {
    const ssize_t got = read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return pipe.reset();
    end.append(buffer.data(), static_cast<std::size_t>(got));
    if (end.size() > 2 * kMostKept) end.erase(0, end.size() - kMostKept);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(const ProgramCall& call) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name =
        std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    bool replaced = false;
    for (const auto& [other, value] : call.variables) replaced = replaced || name == other;
    if (!replaced) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : call.variables)
    if (value) result.push_back(fmt::format("{}={}", name, *value));
  return result;
}

/// In the child. Returns the errno of what failed.
int become(const std::vector<char*>& argv, const std::vector<char*>& environment, int input,
           int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(errors, STDERR_FILENO) < 0)
    return errno;
  execvpe(argv[0], argv.data(), environment.data());
  return errno;
}

int shell_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Passes on what asks this process to end: once, and after a while without mercy.
class Ending {
 public:
  explicit Ending(pid_t program) : program_(program) {}

  void look() {
    const int signal = interrupted();
    if (signal == 0) return;
    if (!asked_) {
      asked_ = Clock::now();
      kill(program_, signal);
    } else if (Clock::now() - *asked_ > kGrace) {
      kill(program_, SIGKILL);
    }
  }

 private:
  pid_t program_;
  std::optional<Clock::time_point> asked_;
};

void keep_end(std::string& text) {
  if (text.size() > kMostKept) text.erase(0, text.size() - kMostKept);
}

}  // namespace

ProgramResult run_program(const ProgramCall& call,
                          const std::function<void(std::chrono::duration<double>)>& meanwhile) {
  const std::string source = call.input.empty() ? "/dev/null" : call.input;
  const Descriptor input(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) fail(fmt::format("'{}' cannot be read", source), errno);
  Pipe output;
  Pipe errors;
  Pipe report;  // carries the errno of a failed exec; a successful one closes it
  const std::vector<std::string> environment = environment_of(call);
  const std::vector<char*> argv = pointers(call.command);
  const std::vector<char*> envp = pointers(environment);

  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid < 0) fail("no process could be created", errno);
  if (pid == 0) {
    const int reason = become(argv, envp, input.get(), output.writing.get(), errors.writing.get());
    [[maybe_unused]] const auto told = write(report.writing.get(), &reason, sizeof reason);
    _exit(127);
  }
  output.writing.reset();
  errors.writing.reset();
  report.writing.reset();
  int reason = 0;
  if (read(report.reading.get(), &reason, sizeof reason) == sizeof reason) {
    waitpid(pid, nullptr, 0);
    throw Error(ErrorCode::io,
                fmt::format("'{}' cannot be run: {}", call.command.front(),
                            std::generic_category().message(reason)),
                "check the name, or write ./ in front of a program in this directory");
  }

  fcntl(output.reading.get(), F_SETFL, O_NONBLOCK);
  fcntl(errors.reading.get(), F_SETFL, O_NONBLOCK);
  ProgramResult result;
  Ending ending(pid);
  int status = 0;
  for (;;) {
    const bool ended = waitpid(pid, &status, WNOHANG) == pid;
    drain(output.reading, result.output);
    drain(errors.reading, result.errors);
    if (ended) break;
    ending.look();
    if (meanwhile) meanwhile(Clock::now() - start);
    std::array<pollfd, 2> wanted{
        {{output.reading.get(), POLLIN, 0}, {errors.reading.get(), POLLIN, 0}}};
    poll(wanted.data(), wanted.size(), kPollMilliseconds);
  }
  result.exit_code = shell_code(status);
  result.took = Clock::now() - start;
  keep_end(result.output);
  keep_end(result.errors);
  return result;
}

std::string final_lines(const std::string& output) {
  constexpr std::size_t kMost = 5;
  std::deque<std::string_view> lines;
  std::string_view rest = output;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back(line);
    if (lines.size() > kMost) lines.pop_front();
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::string text;
  for (const std::string_view line : lines) text.append(line).push_back('\n');
  return text;
}

}  // namespace ulpscope::cli
