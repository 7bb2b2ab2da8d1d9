#pragma once

#include <pthread.h>

#include <cerrno>

namespace ulpscope::ring {

/// For system calls inside the recorded program: while it lives the thread cannot be canceled
/// (that would unwind through noexcept functions), and errno is put back at the end.
class Unnoticed {
 public:
  Unnoticed() noexcept : errno_(errno) {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  }
  Unnoticed(const Unnoticed&) = delete;
  Unnoticed& operator=(const Unnoticed&) = delete;
  ~Unnoticed() {
    ::pthread_setcancelstate(cancel_state_, nullptr);
    errno = errno_;
  }

 private:
  int errno_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ulpscope::ring
