#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>

#include "capture/collectives.hpp"
#include "capture/thread.hpp"

/// Turns what LibTorch reports into events, for every thread and all scopes.
namespace ulpscope::capture {

/// Does nothing if it is installed already.
void install_op_observer();
/// While it is not installed, ops cost what they do without Ulpscope. LibTorch copies the list of
/// callbacks for each of autograd's threads, including disabled ones.
void remove_op_observer() noexcept;

/// Begins an event that is not a RecordFunction record on `thread`: an optimizer's step, zero_grad.
/// `object` is its identity, 0 for none; with `trusted` only library code runs inside.
void begin_event(Thread& thread, const OpInfo& info, std::uint64_t object, bool trusted);

/// Begins an op of `c10d` that the program executes by calling its backend directly. Its arguments
/// are at the positions they have in the op's schema. False if the call belongs to an op of `c10d`
/// that has begun already, or does not matter.
bool begin_backend_call(Thread& thread, const OpInfo& info, const GroupMember& member,
                        c10::ArrayRef<const c10::IValue> inputs);

/// Begins an op that the program executes past LibTorch's dispatcher: a kernel that a compiler has
/// generated. False if it does not matter.
bool begin_direct_call(Thread& thread, const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);

/// Ends an op of either kind. @param frames number of frames including its own.
void end_direct_call(Thread& thread, std::size_t frames, bool threw,
                     c10::ArrayRef<const c10::IValue> results);

/// Ends an event that begin_event began, or the call of a module that announced itself; what is
/// still open inside ends before it. @param frames number of frames including its own.
void end_event(Thread& thread, std::size_t frames, bool threw);

}  // namespace ulpscope::capture
