#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/thread.hpp"

/// Turns what LibTorch reports into events, for every thread and all scopes.
namespace ulpscope::capture {

/// Does nothing where it is installed already.
void install_op_observer();
/// While it is not installed, ops cost what they do without us. LibTorch copies the list of
/// callbacks anew for each of autograd's threads, those that are only disabled as well.
void remove_op_observer() noexcept;

/// Begins an event that is no RecordFunction record on `thread`: an optimizer's step, zero_grad.
/// `object` is its identity, 0 for none; with `trusted` only library code runs inside.
void begin_event(Thread& thread, const OpInfo& info, std::uint64_t object, bool trusted);

/// Ends such an event, or the call of a module that announced itself; what is still open inside
/// ends before it. @param frames how many there were with its own.
void end_event(Thread& thread, std::size_t frames, bool threw);

}  // namespace ulpscope::capture
