#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "capture/storage_table.hpp"
#include "capture/thread.hpp"
#include "ring/message.hpp"
#include "ulpscope/run.hpp"

/// From tensors to slots: what a value is, which digest it has, what is known of its memory.
/// Nothing here dispatches an op or keeps a reference to a tensor.
namespace ulpscope::capture {

struct Place {
  Role role = Role::input;
  std::uint16_t index = 0;
  std::uint16_t element = 0;
  /// An input: the op's kernel computes with it. A result: no op will be seen to call this one, and
  /// what is left of it until the program frees it is an outcome unless an op computes with it.
  bool counts = false;
};

/// A slot and what the caller learns about its storage.
struct Seen {
  ring::SlotRow row{};
  std::uint32_t module = 0;                 ///< owner, if it is a parameter or buffer
  const KnownGeometry* geometry = nullptr;  ///< null if it is not kept; valid for a moment
};

/// A tensor whose content is read. With `boundary` user code may have run since it was last read,
/// and it is digested again unless it was already checked in the thread's epoch; otherwise what is
/// known is trusted, and memory that nothing wrote is left alone.
[[nodiscard]] Seen see_read(Thread& thread, const at::Tensor& tensor, Place place, bool boundary);

/// The same inside an op with its own kernel, which began at `kernel`: the kernel may have
/// overwritten the results of inner ops.
[[nodiscard]] Seen see_read_inside(Thread& thread, const at::Tensor& tensor, Place place,
                                   std::uint64_t kernel);

/// Discards what was known about the bytes: whatever wrote them was not seen, and this is expected.
[[nodiscard]] Seen see_anew(Thread& thread, const at::Tensor& tensor, Place place);

/// A tensor that is passed without being read; what is known is sent, and only sparse tensors,
/// about which nothing is kept, are digested.
[[nodiscard]] Seen see_mention(Thread& thread, const at::Tensor& tensor, Place place);

/// A tensor that an event has written, fully or in part. `already_written` trusts what an inner op
/// left behind: used for ops that compute only through other ops. With `keeps_rest` it has written
/// elements that its arguments choose: what nothing had filled before still counts as unfilled.
[[nodiscard]] Seen see_written(Thread& thread, const at::Tensor& tensor, Place place, Writer writer,
                               bool already_written, bool keeps_rest = false);

/// A tensor that an op may have written without declaring it, where that is not known to be as it
/// was.
[[nodiscard]] Seen see_perhaps_written(Thread& thread, const at::Tensor& tensor, Place place,
                                       Writer writer);

/// Whether the content is what was last known of it: an op that could have written it has not.
[[nodiscard]] bool is_as_known(Thread& thread, const at::Tensor& tensor);

/// A tensor made by an op that does not fill it.
[[nodiscard]] Seen see_unfilled(Thread& thread, const at::Tensor& tensor, Place place,
                                Writer writer);

/// The current parameter, buffer or gradient in backward. Where only layers are recorded, its last
/// write was not seen, so it is digested again.
[[nodiscard]] Seen see_state(Thread& thread, const at::Tensor& tensor, Place place);

/// What a module's forward returned: known from the ops inside, or digested where only layers are
/// recorded.
[[nodiscard]] Seen see_result_of_call(Thread& thread, const at::Tensor& tensor, Place place,
                                      Writer writer);

/// An op that is not recorded wrote the tensor.
void note_written(const at::Tensor& tensor, Writer writer);

/// The module whose parameter or buffer it is, 0 for none.
[[nodiscard]] std::uint32_t owner_of(const at::Tensor& tensor);

/// Whether it is a sparse tensor whose parts, indices and values, can be read here.
[[nodiscard]] bool has_readable_parts(const at::Tensor& tensor);
[[nodiscard]] Digest digest_of_parts(Thread& thread, const at::Tensor& tensor);
/// Its parts have been replaced.
void note_parts_written(const at::Tensor& tensor, Writer writer);
/// A row whose digest will be that of the parts.
void tell_ticket_of_parts(Thread& thread, const at::Tensor& tensor, std::uint64_t ticket,
                          Seen& seen);

/// Whether its content can be read, here or by a device.
[[nodiscard]] bool can_be_read(const at::Tensor& tensor);

/// The bytes of its storage that a tensor covers; none if they cannot be read.
[[nodiscard]] RegionKey region_of(const at::Tensor& tensor);

/// Whether nothing has been written to its memory since an op handed it out.
[[nodiscard]] bool is_unfilled(const at::Tensor& tensor);

/// A copy from a device that writes it was enqueued and has not been waited for: until the
/// program's own code runs again its bytes cannot be read.
void note_arrives_later(Thread& thread, const at::Tensor& tensor, Writer writer);

/// Its bytes are a pointer, which differs in every run.
void mark_handle(const at::Tensor& tensor);

/// Code that is no op has filled this tensor's memory, if no op has: what it holds is an outcome.
void mark_given(const at::Tensor& tensor);

/// From now on a read of this tensor's memory reads an op's working memory.
void mark_scratch(const at::Tensor& tensor);

/// The same, where nothing has filled the memory.
void mark_unfilled_scratch(const at::Tensor& tensor);

/// The storage's id if the tensor has one, of a sparse tensor that of its values, else kNone. Never
/// digests.
[[nodiscard]] std::uint64_t storage_id(const at::Tensor& tensor);

}  // namespace ulpscope::capture
