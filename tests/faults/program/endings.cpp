#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

void train() { Training().steps(12); }

void by_abort() {
  train();
  std::abort();
}

void by_segfault() {
  train();
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}

void by_underscore_exit() {
  train();
  _exit(3);
}

void by_quick_exit() {
  train();
  std::quick_exit(4);
}

void by_exit_of_a_thread() {
  train();
  std::thread([] {
    chain(20);
    std::exit(5);
  }).join();
}

void by_uncaught_exception() {
  train();
  throw std::runtime_error("nobody catches this");
}

void by_own_signal() {
  train();
  raise(SIGTERM);
}

void by_end_of_main_thread() {
  std::thread([] { train(); }).detach();
  pthread_exit(nullptr);
}

/// Runs ops when static objects are destroyed, long after main() has returned.
struct Late {
  std::unique_ptr<Training> training;
  ~Late() {
    if (!training) return;
    chain(5);
    say("in a static destructor: %s", training->digest().c_str());
  }
};
Late late;

void with_static_destructors() {
  late.training = std::make_unique<Training>();
  late.training->steps(6);
  std::atexit([] { say("in atexit: %.9g", static_cast<double>(chain(6))); });
}

}  // namespace

void add_endings(Hazards& hazards) {
  hazards["abort"] = by_abort;
  hazards["segfault"] = by_segfault;
  hazards["underscore-exit"] = by_underscore_exit;
  hazards["quick-exit"] = by_quick_exit;
  hazards["thread-exits"] = by_exit_of_a_thread;
  hazards["uncaught"] = by_uncaught_exception;
  hazards["own-signal"] = by_own_signal;
  hazards["main-thread-ends"] = by_end_of_main_thread;
  hazards["static-destructors"] = with_static_destructors;
  hazards["module-throws"] = throw_from_module;
  hazards["function-throws"] = throw_from_custom_function;
  hazards["callback-throws"] = throw_from_callback;
}

}  // namespace faults
