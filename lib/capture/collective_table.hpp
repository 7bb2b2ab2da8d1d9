#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "capture/op_info.hpp"

/// What the ops of `c10d` do with their arguments, which their schemas leave unmarked
/// (torch/csrc/distributed/c10d/Ops.cpp, Functional.cpp upstream). Independent of the backend that
/// executes an op (Gloo, NCCL, MPI, UCC, or one that the program defines).
namespace ulpscope::capture {

/// Hands its tensors to a backend, which keeps reading and writing them after the op has returned,
/// until the program waits for it.
[[nodiscard]] bool is_collective(std::string_view op) noexcept;

/// Calls such an op and returns tensors that the backend is still writing, or prepares them.
[[nodiscard]] bool wraps_collective(std::string_view op) noexcept;

/// Returns when the backend has written its argument.
[[nodiscard]] bool waits_for_tensor(std::string_view op) noexcept;

/// Reads nothing of its tensor but the device.
[[nodiscard]] bool is_barrier(std::string_view op) noexcept;

/// How an op of `c10d`, or one that prepares its memory, treats a tensor among its arguments;
/// nothing for other ops.
[[nodiscard]] std::optional<Access> collective_access(std::string_view op,
                                                      std::size_t argument) noexcept;

/// The argument that names the rank whose tensors are sent, while those of other ranks are
/// overwritten.
[[nodiscard]] std::optional<std::size_t> sending_rank_argument(std::string_view op) noexcept;

}  // namespace ulpscope::capture
