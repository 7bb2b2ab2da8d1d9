#include "cli/record/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

[[noreturn]] void fail(std::string_view what) {
  throw Error(ErrorCode::io, fmt::format("the command could not be started: {}: {}", what,
                                         std::generic_category().message(errno)));
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : variables) {
      replaced = replaced || text.substr(0, text.find('=')) == name;
    }
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

bool has_terminal() {
  const int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC);
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

}  // namespace

ProcessTree::ProcessTree(SignalForwarder& signals) : signals_(signals) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int ProcessTree::start(const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& variables) {
  const std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  int report[2];  // carries the errno of a failed exec; a successful one closes it
  if (pipe2(report, O_CLOEXEC) != 0) fail("pipe");

  const pid_t pid = fork();
  if (pid < 0) {
    const int reason = errno;
    close(report[0]);
    close(report[1]);
    errno = reason;
    fail("fork");
  }
  if (pid == 0) {
    signals_.restore_in_child();
    execvpe(argv[0], argv.data(), envp.data());
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = write(report[1], &reason, sizeof reason);
    _exit(127);
  }
  close(report[1]);
  int reason = 0;
  ssize_t got = 0;
  do {
    got = read(report[0], &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  command_ = pid;
  if (got == static_cast<ssize_t>(sizeof reason)) {
    waitpid(pid, nullptr, 0);
    return reason;
  }
  signals_.set_command(pid);
  return 0;
}

void ProcessTree::reap() {
  for (;;) {
    siginfo_t child{};
    if (waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) {
      empty_ = errno == ECHILD;
      return;
    }
    if (child.si_pid == 0) return;
    if (child.si_code == CLD_STOPPED || child.si_code == CLD_TRAPPED) {
      follow_stop(child.si_pid, child.si_status);
    } else {
      collect(child.si_pid);
    }
  }
}

void ProcessTree::collect(pid_t pid) {
  if (pid == command_) signals_.set_command(0);  // before the kernel can give its number away
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return;
  const Ending ending = writer::ending_from(status);
  endings_[pid] = ending;
  if (pid == command_ && !ending_) ending_ = ending;
}

void ProcessTree::follow_stop(pid_t pid, int signal) {
  siginfo_t stop{};  // taken, so that it is not reported again; it is gone if the child went on
  waitid(P_PID, static_cast<id_t>(pid), &stop, WSTOPPED | WNOHANG);
  if (stop.si_pid == 0) return;
  const bool from_terminal = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  if (pid != command_ || !from_terminal || !has_terminal()) return;
  raise(SIGSTOP);
  kill(command_, SIGCONT);
}

std::optional<Ending> ProcessTree::ending_of(pid_t pid) const {
  const auto found = endings_.find(pid);
  return found == endings_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ulpscope::cli
