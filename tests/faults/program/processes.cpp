#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <thread>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

extern char** environ;

namespace faults {
namespace {

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return status;
}

/// Forks a child that does `body` and ends; says how it ended.
template <class Body>
void fork_one(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(7);
  }
  say("child ended with %d", status_of(child));
}

void children_that_record() {
  Training training;
  training.steps(4);
  for (int i = 0; i < 3; ++i) {
    fork_one([&] { training.steps(5); });
    training.steps(2);
  }
  say("%s", training.digest().c_str());
}

void children_that_do_not() {
  Training training;
  training.steps(4);
  for (int i = 0; i < 5; ++i) {
    fork_one([] {});
    training.steps(2);
  }
  say("%s", training.digest().c_str());
}

void children_of_children() {
  Training training;
  training.steps(3);
  fork_one([&] {
    training.steps(2);
    fork_one([&] { training.steps(2); });
    training.steps(2);
  });
  training.steps(3);
}

void child_that_is_killed() {
  Training training;
  training.steps(3);
  fork_one([&] {
    training.steps(3);
    std::abort();
  });
  training.steps(3);
}

/// Forks while other threads are inside ops, and so perhaps inside a recorder's locks. Every thread
/// has run an op before: LibTorch itself takes a lock at a thread's first one that a child never
/// gets.
void fork_beside_threads() {
  std::latch warm(4);
  std::thread others[3];
  for (std::thread& other : others) {
    other = std::thread([&] {
      chain(1);
      warm.arrive_and_wait();
      chain(400);
    });
  }
  chain(1);
  warm.arrive_and_wait();
  for (int i = 0; i < 20; ++i) fork_one([] { chain(3); });
  for (std::thread& other : others) other.join();
  say("%.9g", static_cast<double>(chain(10)));
}

void spawn_beside_threads() {
  std::thread other([] { chain(400); });
  for (int i = 0; i < 10; ++i) {
    char path[] = "/bin/true";
    char* arguments[] = {path, nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, path, nullptr, nullptr, arguments, environ) != 0) std::abort();
    say("true ended with %d", status_of(child));
  }
  other.join();
}

void execute_other_program() {
  Training().steps(6);
  execl("/bin/echo", "echo", "another program", nullptr);
  std::abort();
}

void execute_itself() {
  Training().steps(6);
  execl("/proc/self/exe", "fault_program", "train", nullptr);
  std::abort();
}

}  // namespace

void add_processes(Hazards& hazards) {
  hazards["children-record"] = children_that_record;
  hazards["children-idle"] = children_that_do_not;
  hazards["grandchildren"] = children_of_children;
  hazards["child-aborts"] = child_that_is_killed;
  hazards["fork-beside-threads"] = fork_beside_threads;
  hazards["spawn-beside-threads"] = spawn_beside_threads;
  hazards["exec-other"] = execute_other_program;
  hazards["exec-itself"] = execute_itself;
}

}  // namespace faults
