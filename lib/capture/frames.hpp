#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/op_info.hpp"
#include "capture/rng.hpp"
#include "capture/thread.hpp"

/// What has begun on a thread and not yet ended, and how it becomes an event.
namespace ulpscope::capture {

/// Bits of a parent's flags that hold for everything inside it.
inline constexpr std::uint32_t kInheritedFlags =
    event_flag::in_backward | event_flag::in_optimizer | event_flag::autocast |
    event_flag::autocast_other | event_flag::flush_denormal | event_flag::deterministic |
    event_flag::inference_mode;

[[nodiscard]] inline const Frame* parent_of(const Thread& thread) {
  return thread.frames.empty() ? nullptr : &thread.frames.back();
}

/// The innermost of the first `count` frames that is an event: what the next one runs inside.
[[nodiscard]] const Frame* innermost_event(const Thread& thread, std::size_t count);

/// Whether what begins now was called by the program's own code, not by LibTorch's.
[[nodiscard]] bool in_user_code(const Thread& thread);

/// Whether what begins now was called by an op with its own kernel, not by one that computes
/// through others.
[[nodiscard]] inline bool is_in_kernel(const Thread& thread) {
  const Frame* const parent = parent_of(thread);
  return parent != nullptr && parent->info->kind == EventKind::op && !parent->info->wrapper;
}

/// Whether an op does nothing but give the one around it a number in another dtype.
[[nodiscard]] inline bool copies_number(const Frame& parent) {
  return parent.implied && parent.info->converts;
}

/// What such an op computes it by.
[[nodiscard]] inline bool is_copy_of_number(const OpInfo& info) {
  return info.copies || info.converts || (info.flags & event_flag::factory) != 0;
}

/// Whether an op is the view that the kernel of the op around it computes with.
[[nodiscard]] inline bool is_view_in_kernel(const OpInfo& around, const OpInfo& info) {
  return (info.flags & event_flag::view) != 0 && !around.wrapper && !info.converts &&
         !around.converts;
}

/// User code may have run since the last outermost event: what was checked before may no longer
/// hold.
void enter_user_code(Thread& thread);

/// A frame for an event that begins now, inside the innermost one. It is not on the stack yet.
[[nodiscard]] Frame new_event(Thread& thread, const OpInfo& info);

/// A frame for something that is not an event.
[[nodiscard]] Frame silent_frame(Thread& thread, const OpInfo& info);

/// Removes the innermost frame, with its slots, arguments and written arguments.
void drop_frame(Thread& thread);

/// Sends the innermost frame's event, if it has one, and removes it.
void end_innermost(Thread& thread, const RngFingerprint& after = {});

}  // namespace ulpscope::capture
