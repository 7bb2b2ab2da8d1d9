#pragma once

#include <cstdint>

#include "capture/op_info.hpp"
#include "capture/thread.hpp"

/// Which events the settings' globs ask for.
namespace ulpscope::capture {

/// Whether there is anything that is not wanted.
[[nodiscard]] bool is_filtered() noexcept;

/// Whether an op's name passes `ops` and `ignore`.
[[nodiscard]] bool wants_op(Thread& thread, const OpInfo& info);

/// Whether a module, by its path or that of a module it lies in, passes `modules` and `ignore`.
/// @param module 0: what belongs to no module, wanted unless modules are asked for.
[[nodiscard]] bool wants_module(Thread& thread, std::uint32_t module);

}  // namespace ulpscope::capture
