#include "cli/record/signals.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace ulpscope::cli {
namespace {

constexpr std::array kForwarded{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGALRM};
constexpr std::array kOnlySurvived{SIGINT, SIGQUIT, SIGTSTP, SIGCHLD};
constexpr std::array kIgnored{SIGPIPE, SIGTTOU, SIGXFSZ};
constexpr std::array kEnding{SIGINT, SIGQUIT, SIGTERM, SIGHUP};

// A handler reaches only these.
std::atomic<pid_t> command{0};
std::atomic<bool> end_asked{false};
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

bool is_among(int number, const auto& numbers) noexcept {
  for (const int each : numbers) {
    if (each == number) return true;
  }
  return false;
}

void on_signal(int number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const pid_t pid = command;
  if (pid == 0) {
    if (is_among(number, kEnding)) end_asked = true;
  } else if (is_among(number, kForwarded)) {
    const bool from_a_process = info->si_code <= 0;
    if (from_a_process && info->si_pid != pid) kill(pid, number);
  }
  errno = saved_errno;
}

}  // namespace

SignalForwarder::SignalForwarder() {
  end_asked = false;
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : kForwarded) sigaddset(&handled, number);
  for (const int number : kOnlySurvived) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, &saved_mask_);

  const auto install = [this](int number, const struct sigaction& action) {
    Saved saved{number, {}};
    sigaction(number, &action, &saved.action);
    saved_.push_back(saved);
  };
  struct sigaction handle {};
  handle.sa_sigaction = on_signal;
  handle.sa_flags = SA_SIGINFO;  // without SA_RESTART: a signal ends a wait
  sigfillset(&handle.sa_mask);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : kForwarded) install(number, handle);
  for (const int number : kOnlySurvived) install(number, handle);
  for (const int number : kIgnored) install(number, ignore);
}

SignalForwarder::~SignalForwarder() {
  command = 0;
  restore_in_child();
}

void SignalForwarder::restore_in_child() const noexcept {
  for (const Saved& saved : saved_) sigaction(saved.number, &saved.action, nullptr);
  sigprocmask(SIG_SETMASK, &saved_mask_, nullptr);
}

void SignalForwarder::set_command(pid_t pid) noexcept {
  command = pid;
  sigset_t mask = saved_mask_;
  sigdelset(&mask, SIGCHLD);  // whatever this process was started with, it must learn of its child
  sigprocmask(SIG_SETMASK, &mask, nullptr);
}

bool SignalForwarder::asked_to_end() const noexcept { return end_asked; }

}  // namespace ulpscope::cli
