#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

std::atomic<long> ticks{0};

void count(int /*signal*/) { ticks.fetch_add(1, std::memory_order_relaxed); }

void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;  // without SA_RESTART: system calls are interrupted
  if (sigaction(signal, &action, nullptr) != 0) std::abort();
}

void start_timer(int which, int microseconds) {
  const itimerval every{{0, microseconds}, {0, microseconds}};
  if (setitimer(which, &every, nullptr) != 0) std::abort();
}

void stop_timer(int which) {
  const itimerval never{};
  setitimer(which, &never, nullptr);
}

void train_and_tell() {
  Training training;
  training.steps(150);
  say("%s", training.digest().c_str());
}

void timer() {
  handle(SIGALRM, count);
  start_timer(ITIMER_REAL, 200);
  train_and_tell();
  stop_timer(ITIMER_REAL);
  say(ticks > 0 ? "the timer ticked" : "the timer never ticked");
}

void profiling_timer() {
  handle(SIGPROF, count);
  start_timer(ITIMER_PROF, 1000);
  train_and_tell();
  stop_timer(ITIMER_PROF);
}

/// A handler on a separate stack that is as small as the system allows.
void alternate_stack() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ)) + 4096;
  stack_t stack{};
  stack.ss_sp = std::malloc(bytes);
  stack.ss_size = bytes;
  if (sigaltstack(&stack, nullptr) != 0) std::abort();
  handle(SIGALRM, count, SA_ONSTACK);
  start_timer(ITIMER_REAL, 200);
  train_and_tell();
  stop_timer(ITIMER_REAL);
}

void everything_blocked() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  raise(SIGUSR1);
  raise(SIGALRM);
  train_and_tell();
  sigset_t pending;
  sigpending(&pending);
  say("pending: USR1 %d, ALRM %d, PIPE %d", sigismember(&pending, SIGUSR1),
      sigismember(&pending, SIGALRM), sigismember(&pending, SIGPIPE));
}

/// One more signal, so that the time a handler takes does not count.
void start_timer_once(long microseconds) {
  const itimerval once{{0, 0}, {0, microseconds}};
  if (setitimer(ITIMER_REAL, &once, nullptr) != 0) std::abort();
}

/// As crash reporters do: a handler forks, which may be done inside anything.
void fork_in_handler(int /*signal*/) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::abort();
  ticks.fetch_add(1, std::memory_order_relaxed);
  start_timer_once(500 + 100 * (ticks % 20));
}

void forking_handler() {
  handle(SIGALRM, fork_in_handler);
  start_timer_once(3000);
  train_and_tell();
  while (ticks < 100) chain(1);
  stop_timer(ITIMER_REAL);
}

/// As language runtimes do: a write fault is an everyday event that a handler mends.
void* guarded_page = nullptr;

void make_writable(int /*signal*/) {
  if (mprotect(guarded_page, 4096, PROT_READ | PROT_WRITE) != 0) _exit(9);
  ticks.fetch_add(1, std::memory_order_relaxed);
}

void own_segfault_handler() {
  guarded_page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  handle(SIGSEGV, make_writable);
  Training training;
  for (int i = 0; i < 20; ++i) {
    training.step();
    mprotect(guarded_page, 4096, PROT_READ);
    *static_cast<volatile int*>(guarded_page) = i;
  }
  say("%ld faults mended", ticks.load());
}

/// A child's end is the program's own business: none but its own children may show up.
void own_children_only() {
  handle(SIGCHLD, count);
  train_and_tell();
  say("%ld children ended, waitpid says %d", ticks.load(),
      static_cast<int>(waitpid(-1, nullptr, WNOHANG)));
}

}  // namespace

void add_signals(Hazards& hazards) {
  hazards["timer"] = timer;
  hazards["profiling-timer"] = profiling_timer;
  hazards["alternate-stack"] = alternate_stack;
  hazards["signals-blocked"] = everything_blocked;
  hazards["handler-forks"] = forking_handler;
  hazards["handler-of-faults"] = own_segfault_handler;
  hazards["own-children"] = own_children_only;
}

}  // namespace faults
