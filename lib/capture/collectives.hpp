#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>

#include "capture/op_info.hpp"
#include "capture/thread.hpp"
#include "capture/value.hpp"

namespace c10d {
struct ReduceOp;
}

/// Results that the backend of a collective is still writing when the op has returned. A ticket
/// takes the place of their digest until the program has waited for them, or an op reads them: a
/// program that reads them has made sure that they are complete. Nothing here waits or keeps a
/// tensor.
namespace ulpscope::capture {

/// The ranks that an op of `c10d` is for, and which of them this process is.
struct GroupMember {
  int rank = -1;                  ///< -1: not known
  const void* address = nullptr;  ///< of the object that the program calls
};
/// That of the group among an op's arguments.
[[nodiscard]] GroupMember group_member(c10::ArrayRef<const c10::IValue> inputs);

/// The content of an object argument of a `c10d` op: which reduction, and the rank of this process
/// in the group. Other values unchanged.
[[nodiscard]] c10::IValue told_by_object(const c10::IValue& value);
[[nodiscard]] c10::IValue told_by_reduction(const c10d::ReduceOp& reduction);
[[nodiscard]] c10::IValue told_by_group(int rank, int size);

/// How this call treats the argument: a rank that does not send in a broadcast is only written to.
/// -1: the rank is not known.
[[nodiscard]] Access access_in_collective(const OpInfo& info, std::size_t argument,
                                          c10::ArrayRef<const c10::IValue> inputs, int rank);

/// A tensor that the backend writes.
[[nodiscard]] Seen see_arriving(Thread& thread, const at::Tensor& tensor, Place place,
                                Writer writer);

/// The Work that an op of `c10d` returns; null for its other results.
[[nodiscard]] const void* work_of(const c10::IValue& result);

/// `work` is the Work for what the op that began at `position` of this thread has given to a
/// backend; null if there is none.
void note_work(const Thread& thread, std::uint64_t position, const void* work);

/// The backend has written its part of this tensor: it is digested.
void note_arrived(Thread& thread, const at::Tensor& tensor);

/// Whether the backend may still be writing to this tensor: a collective that takes it as input
/// waits for that in its backend's order, so the program need not.
[[nodiscard]] bool is_under_way(const at::Tensor& tensor);

/// A collective replaces what an earlier one is still writing to this tensor, so that content is
/// never seen.
void give_up_replaced(Thread& thread, const at::Tensor& tensor);

/// The program has the future of a Work: it may wait on that, which is not seen.
void note_future(const void* work) noexcept;

/// An op inside a collective has made this tensor, for the backend's own use.
void note_of_backend(const at::Tensor& tensor);

/// Whether `copy_` copies from a backend's memory to the result of a collective: some backends
/// leave that to the waiting thread.
[[nodiscard]] bool delivers(c10::ArrayRef<const c10::IValue> inputs);

/// The program has waited for a collective that succeeded.
void note_work_done(const void* work) noexcept;

/// Whether the backend may still be writing to this memory.
[[nodiscard]] bool is_arriving(const c10::StorageImpl& storage);

/// The recording ends: results that were neither waited for nor read have no digest.
void give_up_arriving(Thread& thread);

/// Whether the calling thread is one in which a backend executes its collectives.
[[nodiscard]] bool is_thread_of_backend() noexcept;

void lock_collectives();  ///< for fork()
void unlock_collectives();
/// A forked child takes part in none of its parent's collectives: right after fork(), and when it
/// begins to record.
void forget_collectives() noexcept;
void forget_collectives_of_parent();

}  // namespace ulpscope::capture
