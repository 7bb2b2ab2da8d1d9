#include "capture/collective_table.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ulpscope::capture {
namespace {

bool is_among(std::span<const std::string_view> names, std::string_view name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// (tensors, ...): each rank's are given and replaced by the result.
constexpr std::array<std::string_view, 4> kInPlace = {
    "c10d::broadcast_", "c10d::allreduce_", "c10d::allreduce_coalesced_", "c10d::reduce_"};

// (outputs, inputs, ...).
constexpr std::array<std::string_view, 11> kIntoOutputs = {"c10d::allgather_",
                                                           "c10d::_allgather_base_",
                                                           "c10d::allgather_coalesced_",
                                                           "c10d::allgather_into_tensor_coalesced_",
                                                           "c10d::reduce_scatter_",
                                                           "c10d::_reduce_scatter_base_",
                                                           "c10d::reduce_scatter_tensor_coalesced_",
                                                           "c10d::gather_",
                                                           "c10d::scatter_",
                                                           "c10d::alltoall_",
                                                           "c10d::alltoall_base_"};

// (tensors, ...).
constexpr std::array<std::string_view, 2> kReceive = {"c10d::recv_", "c10d::recv_any_source_"};

// (tensor, ...), of which only the device matters.
constexpr std::array<std::string_view, 2> kBarriers = {"c10d::barrier", "c10d::monitored_barrier_"};

// (tensors, output, ...): copies this rank's tensors to their place in the memory that an
// all-gather is about to fill. Defined by PyTorch in Python.
constexpr std::string_view kCopyIn = "fsdp::all_gather_copy_in";

}  // namespace

bool is_collective(std::string_view op) noexcept {
  return is_among(kInPlace, op) || is_among(kIntoOutputs, op) || is_among(kReceive, op);
}

bool wraps_collective(std::string_view op) noexcept {
  return (op.starts_with("_c10d_functional::") || op.starts_with("c10d_functional::") ||
          op.starts_with("_c10d_functional_autograd::") || op == kCopyIn) &&
         !waits_for_tensor(op);
}

bool waits_for_tensor(std::string_view op) noexcept {
  return op == "_c10d_functional::wait_tensor" || op == "c10d_functional::wait_tensor";
}

bool is_barrier(std::string_view op) noexcept { return is_among(kBarriers, op); }

std::optional<Access> collective_access(std::string_view op, std::size_t argument) noexcept {
  if (waits_for_tensor(op) || is_barrier(op) || (argument == 1 && op == kCopyIn))
    return Access::metadata;
  if (argument == 0 && is_among(kInPlace, op)) return Access::written;
  if (argument == 0 && (is_among(kIntoOutputs, op) || is_among(kReceive, op)))
    return Access::overwritten;
  return std::nullopt;
}

std::optional<std::size_t> sending_rank_argument(std::string_view op) noexcept {
  if (op == "c10d::broadcast_") return 2;
  return std::nullopt;
}

}  // namespace ulpscope::capture
