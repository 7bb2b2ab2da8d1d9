#pragma once

#include <ATen/core/ivalue.h>

#include <array>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "capture/collectives.hpp"

/// The members of c10d::Backend by which tensors are exchanged: the op of `c10d` that each
/// executes, and its arguments, at their positions in the op's schema
/// (torch/csrc/distributed/c10d/Ops.cpp upstream).
namespace ulpscope::capture::backend {

using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<Tensors>;
using Sizes = std::vector<std::int64_t>;
using Work = c10::intrusive_ptr<c10d::Work>;

template <class... Values>
std::array<const c10::IValue, sizeof...(Values)> values(const Values&... given) {
  return {c10::IValue(given)...};
}

template <class Options>
std::int64_t milliseconds(const Options& options) {
  return options.timeout.count();
}

using Group = const c10::IValue&;

template <class Type>
struct Member;
template <class Return, class... Arguments>
struct Member<Return(Arguments...)> {
  using Signature = Return(Arguments...);
  template <class Class>
  using Of = Return (Class::*)(Arguments...);
};

/// `kReturns` of an op: the tensors that it writes before the Work, or only the Work.
enum class Returns { outputs_and_work, work };

#define ULPSCOPE_CARRIES_OUT(op, member, returns)       \
  static constexpr const char* kOp = op;                \
  static constexpr Returns kReturns = Returns::returns; \
  template <class Class>                                \
  static constexpr bool kFits = requires {              \
    static_cast<Of<Class>>(&Class::member);             \
  }

struct broadcast : Member<Work(Tensors&, const c10d::BroadcastOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::broadcast_", broadcast, outputs_and_work);
  static auto arguments(Group group, const Tensors& tensors,
                        const c10d::BroadcastOptions& options) {
    return values(tensors, group, options.rootRank, options.rootTensor, options.asyncOp,
                  milliseconds(options));
  }
};

struct allreduce : Member<Work(Tensors&, const c10d::AllreduceOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::allreduce_", allreduce, outputs_and_work);
  static auto arguments(Group group, const Tensors& tensors,
                        const c10d::AllreduceOptions& options) {
    return values(tensors, group, told_by_reduction(options.reduceOp), options.sparseIndices,
                  options.asyncOp, milliseconds(options));
  }
};

struct allreduce_coalesced : Member<Work(Tensors&, const c10d::AllreduceCoalescedOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::allreduce_coalesced_", allreduce_coalesced, work);
  static auto arguments(Group group, const Tensors& tensors,
                        const c10d::AllreduceCoalescedOptions& options) {
    return values(tensors, group, told_by_reduction(options.reduceOp), options.asyncOp,
                  milliseconds(options));
  }
};

struct reduce : Member<Work(Tensors&, const c10d::ReduceOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::reduce_", reduce, work);
  static auto arguments(Group group, const Tensors& tensors, const c10d::ReduceOptions& options) {
    return values(tensors, group, told_by_reduction(options.reduceOp), options.rootRank,
                  options.rootTensor, options.asyncOp, milliseconds(options));
  }
};

struct allgather : Member<Work(Lists&, Tensors&, const c10d::AllgatherOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::allgather_", allgather, outputs_and_work);
  static auto arguments(Group group, const Lists& outputs, const Tensors& inputs,
                        const c10d::AllgatherOptions& options) {
    return values(outputs, inputs, group, options.asyncOp, milliseconds(options));
  }
};

struct allgather_base : Member<Work(at::Tensor&, at::Tensor&, const c10d::AllgatherOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::_allgather_base_", _allgather_base, outputs_and_work);
  static auto arguments(Group group, const at::Tensor& output, const at::Tensor& input,
                        const c10d::AllgatherOptions& options) {
    return values(output, input, group, options.asyncOp, milliseconds(options));
  }
};

struct allgather_coalesced : Member<Work(Lists&, Tensors&, const c10d::AllgatherOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::allgather_coalesced_", allgather_coalesced, work);
  static auto arguments(Group group, const Lists& outputs, const Tensors& inputs,
                        const c10d::AllgatherOptions& options) {
    return values(outputs, inputs, group, options.asyncOp);
  }
};

struct allgather_into_tensor_coalesced
    : Member<Work(Tensors&, Tensors&, const c10d::AllgatherOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::allgather_into_tensor_coalesced_", allgather_into_tensor_coalesced,
                       work);
  static auto arguments(Group group, const Tensors& outputs, const Tensors& inputs,
                        const c10d::AllgatherOptions& options) {
    return values(outputs, inputs, group, options.asyncOp);
  }
};

struct gather : Member<Work(Lists&, Tensors&, const c10d::GatherOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::gather_", gather, work);
  static auto arguments(Group group, const Lists& outputs, const Tensors& inputs,
                        const c10d::GatherOptions& options) {
    return values(outputs, inputs, group, options.rootRank, options.asyncOp, milliseconds(options));
  }
};

struct scatter : Member<Work(Tensors&, Lists&, const c10d::ScatterOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::scatter_", scatter, outputs_and_work);
  static auto arguments(Group group, const Tensors& outputs, const Lists& inputs,
                        const c10d::ScatterOptions& options) {
    return values(outputs, inputs, group, options.rootRank, options.asyncOp, milliseconds(options));
  }
};

struct reduce_scatter : Member<Work(Tensors&, Lists&, const c10d::ReduceScatterOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::reduce_scatter_", reduce_scatter, outputs_and_work);
  static auto arguments(Group group, const Tensors& outputs, const Lists& inputs,
                        const c10d::ReduceScatterOptions& options) {
    return values(outputs, inputs, group, told_by_reduction(options.reduceOp), options.asyncOp,
                  milliseconds(options));
  }
};

struct reduce_scatter_base
    : Member<Work(at::Tensor&, at::Tensor&, const c10d::ReduceScatterOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::_reduce_scatter_base_", _reduce_scatter_base, outputs_and_work);
  static auto arguments(Group group, const at::Tensor& output, const at::Tensor& input,
                        const c10d::ReduceScatterOptions& options) {
    return values(output, input, group, told_by_reduction(options.reduceOp), options.asyncOp,
                  milliseconds(options));
  }
};

struct reduce_scatter_tensor_coalesced
    : Member<Work(Tensors&, Tensors&, const c10d::ReduceScatterOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::reduce_scatter_tensor_coalesced_", reduce_scatter_tensor_coalesced,
                       work);
  static auto arguments(Group group, const Tensors& outputs, const Tensors& inputs,
                        const c10d::ReduceScatterOptions& options) {
    return values(outputs, inputs, group, told_by_reduction(options.reduceOp), options.asyncOp,
                  milliseconds(options));
  }
};

struct alltoall_base
    : Member<Work(at::Tensor&, at::Tensor&, Sizes&, Sizes&, const c10d::AllToAllOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::alltoall_base_", alltoall_base, work);
  static auto arguments(Group group, const at::Tensor& output, const at::Tensor& input,
                        const Sizes& output_sizes, const Sizes& input_sizes,
                        const c10d::AllToAllOptions& options) {
    return values(output, input, group, output_sizes, input_sizes, options.asyncOp,
                  milliseconds(options));
  }
};

struct send : Member<Work(Tensors&, int, int)> {
  ULPSCOPE_CARRIES_OUT("c10d::send", send, work);
  static auto arguments(Group group, const Tensors& tensors, int destination, int tag) {
    return values(tensors, group, destination, tag);
  }
};

struct recv : Member<Work(Tensors&, int, int)> {
  ULPSCOPE_CARRIES_OUT("c10d::recv_", recv, work);
  static auto arguments(Group group, const Tensors& tensors, int source, int tag) {
    return values(tensors, group, source, tag);
  }
};

struct recv_any_source : Member<Work(Tensors&, int)> {
  ULPSCOPE_CARRIES_OUT("c10d::recv_any_source_", recvAnysource, work);
  static auto arguments(Group group, const Tensors& tensors, int tag) {
    return values(tensors, group, tag);
  }
};

struct barrier : Member<Work(const c10d::BarrierOptions&)> {
  ULPSCOPE_CARRIES_OUT("c10d::barrier", barrier, work);
  static auto arguments(Group group, const c10d::BarrierOptions& options) {
    return values(at::Tensor(), group, options.device_ids, options.asyncOp, milliseconds(options));
  }
};

struct monitored_barrier : Member<void(const c10d::BarrierOptions&, bool)> {
  ULPSCOPE_CARRIES_OUT("c10d::monitored_barrier_", monitoredBarrier, work);
  static auto arguments(Group group, const c10d::BarrierOptions& options, bool wait_all_ranks) {
    return values(at::Tensor(), group, options.device_ids, milliseconds(options), wait_all_ranks);
  }
};

#undef ULPSCOPE_CARRIES_OUT

}  // namespace ulpscope::capture::backend
