#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace ulpscope::ring {

/// A thread that no signal interrupts: they are for the thread that drains the rings.
template <class Body>
[[nodiscard]] std::thread quiet_thread(Body body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread(std::move(body));
}

}  // namespace ulpscope::ring
