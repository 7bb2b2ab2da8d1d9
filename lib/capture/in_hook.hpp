#pragma once

#include <atomic>
#include <chrono>

namespace ulpscope::capture::detail {

/// Marks the calling thread as inside a hook body, where it may hold locks of ours.
class InHook {
 public:
  InHook() noexcept {
    if (depth_++ != 0) return;
    if (seat_ == nullptr) take_seat();
    seat_->inside.store(true, std::memory_order_relaxed);
  }
  ~InHook() {
    if (--depth_ == 0) seat_->inside.store(false, std::memory_order_release);
  }
  InHook(const InHook&) = delete;
  InHook& operator=(const InHook&) = delete;
  [[nodiscard]] static bool any() noexcept { return depth_ != 0; }

  /// Returns when each other thread has left the hook body that it is in, at the latest after
  /// `patience`. Hooks that see what the caller has stored before may begin meanwhile.
  static void wait_for_others(std::chrono::milliseconds patience) noexcept;

  /// The calling thread ends, or is the only one that a forked child has.
  static void leave_seat() noexcept;
  static void forget_others() noexcept;

  /// What other threads see of one. A line of the cache each.
  struct alignas(64) Seat {
    std::atomic<bool> taken{false};
    std::atomic<bool> inside{false};
  };

 private:
  static void take_seat() noexcept;

  __attribute__((tls_model("initial-exec"))) static inline constinit thread_local int depth_ = 0;
  __attribute__((tls_model("initial-exec"))) static inline constinit thread_local Seat* seat_ =
      nullptr;
};

}  // namespace ulpscope::capture::detail
