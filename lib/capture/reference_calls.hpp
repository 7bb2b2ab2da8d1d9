#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

#include "capture/op_info.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {

/// Where the reference has the op that begins, as an index into its calls; kNone if it has none.
/// Outermost ops are aligned with those of the lane that the thread has there, in backward with
/// those of a lane's backward; an op inside of another one with what runs inside of that one's
/// call.
[[nodiscard]] std::uint64_t find_call(Thread& thread, const OpInfo& info,
                                      c10::ArrayRef<const c10::IValue> inputs);

}  // namespace ulpscope::capture
