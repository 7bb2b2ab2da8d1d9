#pragma once

#include <cstdint>

#include "capture/op_info.hpp"
#include "capture/thread.hpp"

/// Which events the settings' globs select.
namespace ulpscope::capture {

/// Reads the settings of a new recording.
void begin_filter();

namespace detail {
extern bool any_filter;
}
/// Whether anything is filtered out.
[[nodiscard]] inline bool is_filtered() noexcept { return detail::any_filter; }

/// Whether an op's name passes `ops` and `ignore`.
[[nodiscard]] bool wants_op(Thread& thread, const OpInfo& info);

/// Whether a module, by its path or that of a module it is in, passes `modules` and `ignore`.
/// @param module 0: what belongs to no module, selected unless modules are given.
[[nodiscard]] bool wants_module(Thread& thread, std::uint32_t module);

}  // namespace ulpscope::capture
