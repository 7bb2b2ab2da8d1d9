#include "capture/slot_rows.hpp"

#include <torch/csrc/autograd/variable.h>

#include "capture/device_backend.hpp"
#include "capture/device_values.hpp"
#include "capture/filter.hpp"
#include "capture/sent_content.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {

namespace {

/// Whether no op made a tensor that requires gradients.
bool is_leaf(const at::Tensor& tensor) {
  const c10::AutogradMetaInterface* const meta = tensor.unsafeGetTensorImpl()->autograd_meta();
  return meta != nullptr &&
         static_cast<const torch::autograd::AutogradMeta*>(meta)->grad_fn_ == nullptr;
}

/// An op that is left out of the recording made it, and no recorded op has written it: it holds
/// what that op has computed so far, or nothing yet.
bool is_of_op_left_out(const Thread& thread, const Storage& storage) {
  if (!is_filtered() || storage.produced || !storage.uninitialised.empty()) return false;
  for (auto frame = thread.frames.rbegin(); frame != thread.frames.rend(); ++frame) {
    if (frame->position != ring::kNone) return false;
    if (frame->info->kind == EventKind::op && storage.id >= frame->first_storage) return true;
  }
  return false;
}

}  // namespace

Seen blank(Thread& thread, const at::Tensor& tensor, Place place) {
  Seen seen;
  ring::SlotRow& row = seen.row;
  row.role = static_cast<std::uint8_t>(place.role);
  row.index = place.index;
  row.element = place.element;
  row.storage = ring::kNone;
  row.writer = ring::kNone;
  if (!tensor.defined()) {
    row.flags = slot_flag::undefined | slot_flag::no_digest;
    return seen;
  }
  seen.geometry = thread.known_geometry(tensor);
  row.geometry = seen.geometry != nullptr ? seen.geometry->number : thread.geometry(tensor);
  if (tensor.requires_grad()) row.flags |= slot_flag::requires_grad;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) row.flags |= slot_flag::wrapped_number;
  return seen;
}

void identify(Thread& thread, const Storage& storage, const Name& name, Seen& seen) {
  seen.module = name.module;
  seen.row.storage = storage.id;
  seen.row.writes = storage.writes;
  seen.row.writer = storage.writer.position;
  seen.row.writer_lane = storage.writer.lane;
  seen.row.flags |= name.flags;
  if (name.id != 0) seen.row.name = thread.string(name.id);
  if (!storage.produced) seen.row.flags |= slot_flag::unproduced;
  if (storage.scratch) seen.row.flags |= slot_flag::scratch;
}

Storage& enter_write(const c10::StorageImpl& impl, const RegionKey& key, Writer writer,
                     bool keeps_rest) {
  Storage& storage = storages().at(impl);
  storage.regions.forget(key);
  storage.mark_written(key.offset, key.offset + key.bytes, keeps_rest);
  storage.produced = true;
  storage.writer = writer;
  ++storage.writes;
  return storage;
}

void tell(Region& region, ring::SlotRow& row) {
  if (region.ticket != 0) settle(region);  // which gives the value a new number
  tell_unsettled(region, row);
}

void tell_unsettled(const Region& region, ring::SlotRow& row) {
  row.value = region.value;
  row.writes = region.writes;
  row.writer = region.writer.position;
  row.writer_lane = region.writer.lane;
  if (region.ticket != 0) {
    row.digest[0] = region.ticket;
    row.pending |= ring::pending_flag::ticket;
    return;
  }
  row.digest[0] = region.digest.high;
  row.digest[1] = region.digest.low;
  if (region.logical != Digest{}) {
    row.logical[0] = region.logical.high;
    row.logical[1] = region.logical.low;
    row.flags |= slot_flag::logical;
  }
}

void note_content(const Region& region, ring::SlotRow& row) {
  if (settings().level == ring::Level::full && !region.no_content)
    row.flags |= slot_flag::has_content;
}

Known tell_read(Thread& thread, const at::Tensor& tensor, Place place, const Content& content,
                bool boundary, Seen& seen) {
  ring::SlotRow& row = seen.row;
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  identify(thread, storage, storage.name_of(content.key), seen);
  if (place.counts) {
    storage.unread = false;
    storages().note_memory(storage, *tensor.storage().unsafeGetStorageImpl());
  }
  if ((row.flags & slot_flag::requires_grad) != 0 && !storage.watched && is_leaf(tensor))
    storages().watch(storage, *tensor.storage().unsafeGetStorageImpl());
  if (is_of_op_left_out(thread, storage)) storage.mark_uninitialised(0, storage.bytes);
  const bool unwritten = storage.touches_uninitialised(content.key);
  if (unwritten) row.flags |= slot_flag::uninitialised;
  Region* const region = storage.regions.find(content.key);
  if (region == nullptr) {
    if (!unwritten || boundary) return Known::unknown;
    row.flags |= slot_flag::no_digest;
    return Known::told;
  }
  const bool trusted =
      !boundary || settings().verify == ring::Verify::off || region->checked == thread.epoch;
  if (!trusted) return Known::checked;
  tell(*region, row);
  if (region->no_content) send_missing_content(thread, tensor, content, *region);
  note_content(*region, row);
  return Known::told;
}

bool tell_left(Thread& thread, const at::Tensor& tensor, Place place, const Content& content,
               Seen& seen) {
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  Region* const region = storage.regions.find(content.key);
  const bool partly_left =
      storage.touches_uninitialised(content.key) && !storage.is_uninitialised(content.key);
  if (region == nullptr && !partly_left) return false;
  identify(thread, storage, storage.name_of(content.key), seen);
  if (region == nullptr) {
    seen.row.flags |= slot_flag::uninitialised | slot_flag::no_digest;
    return true;
  }
  if (place.counts) storages().mark_unread(storage, *tensor.storage().unsafeGetStorageImpl());
  tell(*region, seen.row);
  if (region->no_content) send_missing_content(thread, tensor, content, *region);
  note_content(*region, seen.row);
  return true;
}

}  // namespace ulpscope::capture
