#include "cli/check/side_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::chrono::milliseconds kPoll{10};

/// Any of its threads may have started one.
std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> all = children_of(process);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> more = children_of(all[i]);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void send_to_descendants_of(pid_t process, int signal) noexcept {
  std::vector<pid_t> all = descendants_of(process);
  if (signal == SIGCONT) std::reverse(all.begin(), all.end());
  for (const pid_t each : all) kill(each, signal);
}

SideProgram::SideProgram(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, signal);
  posix_spawnattr_setsigdefault(&attributes, &handled);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  }
  const int reason = posix_spawnp(&pid_, argv.front(), &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (reason != 0)
    throw Error(ErrorCode::io, fmt::format("'{}' cannot be run: {}", command.front(),
                                           std::generic_category().message(reason)));
}

SideProgram::SideProgram(const std::function<int()>& run) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_ = fork();
  if (pid_ < 0)
    throw Error(ErrorCode::io, fmt::format("no process could be created: {}",
                                           std::generic_category().message(errno)));
  if (pid_ > 0) return;
  const int code = run();
  std::fflush(nullptr);
  std::_Exit(code);
}

SideProgram::~SideProgram() {
  if (ended_) return;
  send_to_descendants(SIGCONT);
  send(SIGTERM);
  waitpid(pid_, nullptr, 0);
}

std::optional<int> SideProgram::wait(std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!ended_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      // What it had stopped would wait for ever. It belongs to this process now.
      if (WIFSIGNALED(status)) send_to_descendants_of(getpid(), SIGCONT);
    } else if (std::chrono::steady_clock::now() >= end) {
      break;
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
  return ended_;
}

void SideProgram::send(int signal) const noexcept {
  if (!ended_) kill(pid_, signal);
}

std::vector<pid_t> SideProgram::descendants() const { return descendants_of(pid_); }

void SideProgram::send_to_descendants(int signal) const noexcept {
  if (!ended_) send_to_descendants_of(pid_, signal);
}

}  // namespace ulpscope::cli
