#pragma once

#include <ATen/core/Tensor.h>

#include "capture/content.hpp"
#include "capture/storage_table.hpp"
#include "capture/thread.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {

/// A slot that describes a tensor, without its content.
[[nodiscard]] Seen blank(Thread& thread, const at::Tensor& tensor, Place place);

/// Says which memory it is.
void identify(Thread& thread, const Storage& storage, const Name& name, Seen& seen);

/// Says that a region's bytes are recorded, where they are.
void note_content(const Region& region, ring::SlotRow& row);

/// What is known about content that an op reads.
enum class Known : std::uint8_t {
  told,     ///< the slot is complete
  checked,  ///< it has a digest, which must be computed again
  unknown,  ///< it has none
};
[[nodiscard]] Known tell_read(Thread& thread, const at::Tensor& tensor, Place place,
                              const Content& content, bool boundary, Seen& seen);

/// Reports what inner ops have written of the content that an op wrote. False if that is not known,
/// or they have written none of it: then the op has computed it itself.
[[nodiscard]] bool tell_left(Thread& thread, const at::Tensor& tensor, Place place,
                             const Content& content, Seen& seen);

/// The bytes of a region have new content, which is not known yet. Holding the lock of the
/// storages.
/// @param keeps_rest perhaps not of each byte: what was uninitialized still is
Storage& enter_write(const c10::StorageImpl& storage, const RegionKey& key, Writer writer,
                     bool keeps_rest = false);

/// Enters what is known about the content. Holding the lock of the storages.
void tell(Region& region, ring::SlotRow& row);
/// The same, with a ticket even if its digest has arrived meanwhile.
void tell_unsettled(const Region& region, ring::SlotRow& row);

}  // namespace ulpscope::capture
