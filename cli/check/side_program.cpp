#include "cli/check/side_program.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

SideProgram::SideProgram(const std::function<int(HeldProcesses&)>& run) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_ = fork();
  if (pid_ < 0)
    throw Error(ErrorCode::io, fmt::format("no process could be created: {}",
                                           std::generic_category().message(errno)));
  if (pid_ > 0) return;
  const int code = run(held_);
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
      if (WIFSIGNALED(status)) held_.let_go(getpid());
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

void SideProgram::send_to_descendants(int signal) const noexcept {
  if (ended_) return;
  for (const pid_t each : descendants_of(pid_)) kill(each, signal);
}

void SideProgram::hold() noexcept {
  if (!ended_) held_.hold(pid_);
}

void SideProgram::let_go() noexcept {
  if (!ended_) held_.let_go(pid_);
}

}  // namespace ulpscope::cli
