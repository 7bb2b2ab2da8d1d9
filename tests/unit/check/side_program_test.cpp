#include "cli/check/side_program.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

using namespace ulpscope::cli;
using namespace std::chrono_literals;

namespace {

constexpr int kPatience = 20'000;  // milliseconds

}  // namespace

TEST_SUITE("side program") {
  TEST_CASE("what a process has stopped goes on if a signal ends it") {
    std::array<int, 2> line{};
    REQUIRE(pipe(line.data()) == 0);
    SideProgram program([&](HeldProcesses& held) {
      sigset_t continued;
      sigemptyset(&continued);
      sigaddset(&continued, SIGCONT);
      sigprocmask(SIG_BLOCK, &continued, nullptr);
      const pid_t child = fork();
      if (child == 0) {
        int signal = 0;
        sigwait(&continued, &signal);
        _exit(write(line[1], "x", 1) == 1 ? 0 : 1);
      }
      held.hold(getpid());
      int status = 0;
      waitpid(child, &status, WUNTRACED);
      raise(SIGKILL);
      return 0;
    });
    CHECK(program.wait(20s) == 128 + SIGKILL);
    pollfd said{line[0], POLLIN, 0};
    CHECK(poll(&said, 1, kPatience) == 1);
    close(line[0]);
    close(line[1]);
  }

  TEST_CASE("what has stopped itself is left alone") {
    const pid_t child = fork();
    if (child == 0) {
      raise(SIGSTOP);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, WUNTRACED) == child);
    HeldProcesses held;
    held.hold(getpid());
    CHECK(std::ranges::count(held.held(getpid()), child) == 0);
    held.let_go(getpid());
    siginfo_t went_on{};
    waitid(P_PID, static_cast<id_t>(child), &went_on, WCONTINUED | WNOHANG);
    CHECK(went_on.si_pid == 0);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
}
