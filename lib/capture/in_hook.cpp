#include "capture/in_hook.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>

namespace ulpscope::capture::detail {
namespace {

using namespace std::chrono_literals;

constinit std::array<InHook::Seat, 4096> seats{};
constinit std::atomic<std::size_t> seats_used{0};  ///< those beyond were never taken

/// Shared by the threads for which there is none left; they are not waited for.
constinit InHook::Seat standing_room{};

/// All other threads see this thread's stores from their next instruction on, so that they need no
/// fence at each hook.
void let_all_threads_see() noexcept {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

void InHook::take_seat() noexcept {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (seats[i].taken.load(std::memory_order_relaxed) || seats[i].taken.exchange(true)) continue;
    std::size_t used = seats_used.load();
    while (used < i + 1 && !seats_used.compare_exchange_weak(used, i + 1)) {
    }
    seat_ = &seats[i];
    return;
  }
  seat_ = &standing_room;
}

void InHook::leave_seat() noexcept {
  if (seat_ == nullptr || depth_ != 0) return;
  std::exchange(seat_, nullptr)->taken.store(false, std::memory_order_release);
}

void InHook::forget_others() noexcept {
  const std::size_t used = seats_used.load();
  for (Seat& seat : std::span(seats).first(used)) {
    if (&seat == seat_) continue;
    seat.inside.store(false, std::memory_order_relaxed);
    seat.taken.store(false, std::memory_order_relaxed);
  }
}

void InHook::wait_for_others(std::chrono::milliseconds patience) noexcept {
  let_all_threads_see();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const Seat& seat : std::span(seats).first(seats_used.load())) {
    while (&seat != seat_ && seat.inside.load(std::memory_order_acquire) &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
    }
  }
}

}  // namespace ulpscope::capture::detail
