#pragma once

#include <atomic>
#include <cstdint>

/// Keeps the recorder idle outside the requested steps. The writer decides where a step is, from
/// later events (dump/timeline.hpp); here it is only bounded from both sides, so that everything is
/// observed from one step before the first to two after the last, and up to the first forward of a
/// module. While idle, only modules that
/// announce themselves and optimizers are sent, without their values: the writer counts steps by
/// them.
namespace ulpscope::capture {

namespace detail {
extern std::atomic<bool> idle_switch;
extern std::atomic<bool> full_steps_switch;
}  // namespace detail

/// Whether values are not wanted now.
[[nodiscard]] inline bool idle() noexcept {
  return detail::idle_switch.load(std::memory_order_relaxed);
}

/// Whether this is one of the steps of which bytes are kept, and stacks if they are recorded, as
/// far as is known here.
[[nodiscard]] inline bool in_full_steps() noexcept {
  return detail::full_steps_switch.load(std::memory_order_relaxed);
}

/// Reads the settings.
void begin_step_window();

/// The program's code calls a module while gradients are recorded.
void step_window_sees_forward(std::uint32_t module);
/// An optimizer has stepped.
void step_window_sees_optimizer(std::uint64_t optimizer);
/// The program says that a step begins.
void step_window_sees_step();

void lock_step_window();  ///< for fork()
void unlock_step_window();

}  // namespace ulpscope::capture
