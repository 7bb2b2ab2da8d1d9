#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

void limit(int resource, rlim_t most) {
  rlimit limits{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limits);
  limits.rlim_cur = most;
  if (setrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0) std::abort();
}

rlim_t mapped_bytes() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::abort();
  std::fclose(file);
  return static_cast<rlim_t>(pages) * 4096;
}

rlim_t first_free_descriptor() {
  const int next = dup(STDIN_FILENO);
  if (next < 0) std::abort();
  close(next);
  return static_cast<rlim_t>(next);
}

/// Enough memory for the program, not for a ring as well.
void little_address_space() {
  Training training;
  training.steps(5);
  limit(RLIMIT_AS, mapped_bytes() + (12 << 20));
  std::thread([] { say("a thread: %.9g", static_cast<double>(chain(10))); }).join();
  training.steps(5);
  say("%s", training.digest().c_str());
}

void no_descriptors() {
  Training training;
  training.steps(5);
  limit(RLIMIT_NOFILE, first_free_descriptor());
  std::thread([] { say("a thread: %.9g", static_cast<double>(chain(10))); }).join();
  training.steps(5);
  say("%s", training.digest().c_str());
}

/// As above, and the process ends without letting anything of ours run.
void no_descriptors_and_gone() {
  Training().steps(5);
  limit(RLIMIT_NOFILE, first_free_descriptor());
  std::thread([] { say("a thread: %.9g", static_cast<double>(chain(10))); }).join();
  _exit(0);
}

void no_files() {
  limit(RLIMIT_FSIZE, 64 << 10);
  signal(SIGXFSZ, SIG_DFL);
  Training training;
  training.steps(12);
  std::thread([] { say("a thread: %.9g", static_cast<double>(chain(10))); }).join();
  say("%s", training.digest().c_str());
}

void small_main_stack() {
  limit(RLIMIT_STACK, 256 << 10);
  Training training;
  training.steps(12);
  say("%s", training.digest().c_str());
}

void few_processes() {
  limit(RLIMIT_NPROC, 1);
  Training training;
  training.steps(12);
  say("%s", training.digest().c_str());
}

}  // namespace

void add_limits(Hazards& hazards) {
  hazards["limit-memory"] = little_address_space;
  hazards["limit-descriptors"] = no_descriptors;
  hazards["limit-descriptors-exit"] = no_descriptors_and_gone;
  hazards["limit-files"] = no_files;
  hazards["limit-stack"] = small_main_stack;
  hazards["limit-processes"] = few_processes;
}

}  // namespace faults
