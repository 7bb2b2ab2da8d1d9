#pragma once

#include <atomic>
#include <mutex>  // its guards

namespace ulpscope::capture {

/// A mutex that hooks take several times for an event: where nobody else has it, locking and
/// unlocking take a few instructions and no call. A child that is forked while it is held can
/// release it.
class Mutex {
 public:
  [[gnu::always_inline]] void lock() noexcept {
    int expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) wait();
  }
  [[gnu::always_inline]] void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

 private:
  static constexpr int kFree = 0;
  static constexpr int kHeld = 1;
  static constexpr int kAwaited = 2;  ///< held, and others perhaps wait

  [[gnu::noinline]] void wait() noexcept {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      state_.wait(kAwaited, std::memory_order_relaxed);
  }

  std::atomic<int> state_{kFree};
};

}  // namespace ulpscope::capture
