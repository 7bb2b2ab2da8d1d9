#pragma once

#include <cstdint>

#include "capture/thread.hpp"

/// Turns what LibTorch reports into events. Installed once, for every thread and all scopes.
namespace ulpscope::capture {

void install_op_observer();
/// While it is not installed, ops cost what they do without us.
void remove_op_observer() noexcept;

/// Begins an event that is no RecordFunction record on `thread`: a module's forward, an optimizer's
/// step. `object` is its identity, 0 for none; with `trusted` only library code runs inside.
void begin_event(Thread& thread, const OpInfo& info, std::uint32_t module, std::uint64_t object,
                 bool trusted);

/// Ends the innermost such event. `result` is what a module's forward returned, or null.
void end_event(Thread& thread, const at::Tensor* result, bool threw);

}  // namespace ulpscope::capture
