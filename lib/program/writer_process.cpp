#include "program/writer_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::program {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::seconds kAnswer = 30s;
constexpr std::size_t kStackBytes = 256 << 10;

[[noreturn]] void fail(const std::string& what, int reason) {
  throw Error(ErrorCode::io, "the process that writes the dump could not be started: " + what +
                                 ": " + std::generic_category().message(reason));
}

/// A descriptor that the program's standard streams cannot be confused with.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number_ < 0 || number_ > STDERR_FILENO) return;
    number_ = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

/// The new process has its own session, default signals, /dev/null as standard input and standard
/// error, and `output` as standard output.
class Plan {
 public:
  Plan(const std::filesystem::path& executable, const std::vector<std::string>& arguments,
       int output)
      : executable_(executable.string()), arguments_(arguments) {
    argv_.push_back(executable_.data());
    for (std::string& argument : arguments_) argv_.push_back(argument.data());
    argv_.push_back(nullptr);
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, STDIN_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  /// Leaves the reason in error(). Runs in a process that shares this one's memory.
  static int spawn(void* plan) {
    auto* self = static_cast<Plan*>(plan);
    pid_t pid = 0;
    self->error_ = posix_spawn(&pid, self->executable_.c_str(), &self->actions_, &self->attributes_,
                               self->argv_.data(), environ);
    return 0;
  }

  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const std::string& executable() const noexcept { return executable_; }

 private:
  std::string executable_;
  std::vector<std::string> arguments_;
  std::vector<char*> argv_;
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  int error_ = 0;
};

/// The writer is the child of a process that ends at once and that has no exit signal, so neither a
/// wait() of the program nor its SIGCHLD handler sees it. It is not forked: pthread_atfork handlers
/// do not run, and nothing is copied however large the program is.
void spawn_apart(Plan& plan) {
  void* stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) fail("no memory", errno);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int no_signal = 0;
  const pid_t between = ::clone(&Plan::spawn, static_cast<char*>(stack) + kStackBytes,
                                CLONE_VM | CLONE_VFORK | no_signal, &plan);
  const int reason = errno;
  if (between > 0) {
    while (::waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::munmap(stack, kStackBytes);
  if (between < 0) fail("clone", reason);
  if (plan.error() != 0) fail(plan.executable(), plan.error());
}

/// Everything that comes out of a pipe until its other end is closed.
std::string read_all(int pipe) {
  std::string text;
  const Clock::time_point deadline = Clock::now() + kAnswer;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{pipe, POLLIN, 0};
    if (left <= 0) return text;
    if (::poll(&entry, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

WriterProcess start_writer(const std::filesystem::path& executable,
                           const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe", errno);
  const Descriptor answer(ends[0]);
  Descriptor output(ends[1]);
  Plan plan(executable, arguments, output.get());
  spawn_apart(plan);
  output.close();

  std::istringstream lines(read_all(answer.get()));
  std::string word;
  std::string first;
  std::string second;
  std::getline(lines, word);
  std::getline(lines, first);
  std::getline(lines, second);
  if (word == "ready" && !first.empty()) return {.socket_path = first, .dump = second};
  if (word == "refused" && !first.empty()) throw Error(ErrorCode::io, first, second);
  throw Error(ErrorCode::io, "'" + plan.executable() + "' did not begin to write a dump",
              "run it by hand: " + plan.executable() + " --version");
}

}  // namespace ulpscope::program
