#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>

#include "capture/op_info.hpp"
#include "capture/reference_values.hpp"
#include "capture/thread.hpp"

/// Gives the ops of the program values of a reference run in place of their own, where the settings
/// name a file of such values (ring/injection.hpp): what a difference has changed is put right, so
/// that the next one that does not follow from it shows. The program's results are not its own
/// then.
///
/// Ops are aligned with the reference's by op, caller, dtypes and shapes, while they run
/// (OnlineAlignment); what runs inside an op with what runs inside its call. A tensor is written if
/// it has the same dtype, shape and order of elements there; on a device only if it has no gaps.
/// Each write is an event `ulpscope::inject`.
namespace ulpscope::capture {

namespace detail {
extern std::atomic<bool> injection_switch;
}

/// The settings of a recording that begins are known.
void begin_injection() noexcept;

/// Whether this process is given values: the first of those that are recorded.
[[nodiscard]] inline bool injects() noexcept {
  return detail::injection_switch.load(std::memory_order_relaxed) && is_given_values();
}

/// Before an op begins. Where its call in the reference gives inputs, its own become those, unless
/// a kernel has called it: that is in the middle of its own work.
[[nodiscard]] ReferenceCall inject_inputs(Thread& thread, const OpInfo& info,
                                          c10::ArrayRef<const c10::IValue> inputs);

/// What an op has left, to be given after its event has ended.
struct LeftByOp {
  Role role;
  std::uint16_t index;
  std::uint16_t element;
  at::Tensor tensor;
};

/// After an op has ended that has read what it read in the reference: what it left becomes what it
/// left there.
void inject_results(Thread& thread, const ReferenceCall& call, c10::ArrayRef<LeftByOp> left);

/// At the end of the recording: how many values were given.
void tell_injection(Thread& thread);

}  // namespace ulpscope::capture
