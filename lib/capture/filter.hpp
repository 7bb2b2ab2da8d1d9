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
extern bool any_full_op_filter;
}  // namespace detail
/// Whether anything is filtered out.
[[nodiscard]] inline bool is_filtered() noexcept { return detail::any_filter; }

/// Whether an op's name passes `ops` and `ignore`.
[[nodiscard]] bool wants_op(Thread& thread, const OpInfo& info);

/// Whether a module, by its path or that of a module it is in, passes `modules` and `ignore`.
/// @param module 0: what belongs to no module, selected unless modules are given.
[[nodiscard]] bool wants_module(Thread& thread, std::uint32_t module);

/// Whether an op's name passes `full_ops`.
[[nodiscard]] bool is_full_op(Thread& thread, const OpInfo& info);

/// While it lives, values that the calling thread sees belong to an op: their bytes are kept if
/// `full_ops` selects it.
class ValuesOfOp {
 public:
  ValuesOfOp(Thread& thread, const OpInfo& info) : thread_(thread), before_(thread.in_full_op) {
    if (detail::any_full_op_filter) thread.in_full_op = is_full_op(thread, info);
  }
  ValuesOfOp(const ValuesOfOp&) = delete;
  ValuesOfOp& operator=(const ValuesOfOp&) = delete;
  ~ValuesOfOp() { thread_.in_full_op = before_; }

 private:
  Thread& thread_;
  bool before_;
};

/// Whether the bytes of what the thread sees now are kept.
[[nodiscard]] bool keeps_bytes(const Thread& thread) noexcept;

}  // namespace ulpscope::capture
