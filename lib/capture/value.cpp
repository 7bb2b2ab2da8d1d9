#include "capture/value.hpp"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>

#include "capture/collectives.hpp"
#include "capture/content.hpp"
#include "capture/device_values.hpp"
#include "capture/see_on_device.hpp"
#include "capture/sent_content.hpp"
#include "capture/slot_rows.hpp"

namespace ulpscope::capture {
namespace {

/// Its bytes are read here, or by a device.
bool has_known_memory(const at::Tensor& tensor, const KnownGeometry* known = nullptr) {
  return is_readable(tensor, known) || is_on_device(tensor);
}

std::atomic<bool> any_arrives_later{false};

/// Its bytes may still be on their way from a device.
bool arrives_later(const Thread& thread, const at::Tensor& tensor) {
  if (!any_arrives_later.load(std::memory_order_relaxed)) return false;
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).arrives == thread.epoch;
}

Seen unread(Thread& thread, const at::Tensor& tensor, Seen seen) {
  const std::lock_guard guard(storages());
  const Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  identify(thread, storage, storage.name, seen);
  seen.row.flags |= slot_flag::opaque | slot_flag::no_digest;
  return seen;
}

const at::SparseTensorImpl& sparse_impl(const at::Tensor& tensor) {
  return *static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

const c10::StorageImpl& storage_of_parts(const at::Tensor& tensor) {
  return *sparse_impl(tensor).values().storage().unsafeGetStorageImpl();
}

/// Calls visit(part) for the tensors in which a sparse one has its indices and values. A tensor of
/// torch.func that wraps one has the same layout.
template <class Visit>
void for_each_part(const at::Tensor& tensor, Visit visit) {
  const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (tensor.layout() == c10::kSparse) {
    const auto* const sparse = dynamic_cast<const at::SparseTensorImpl*>(impl);
    if (sparse == nullptr) return;
    visit(sparse->indices());
    visit(sparse->values());
  } else if (at::sparse_csr::is_sparse_compressed(tensor)) {
    const auto* const sparse = dynamic_cast<const at::SparseCsrTensorImpl*>(impl);
    if (sparse == nullptr) return;
    visit(sparse->compressed_indices());
    visit(sparse->plain_indices());
    visit(sparse->values());
  }
}

/// Memory in which a sparse tensor has its indices or values may have room for more elements, which
/// nothing fills. Only what is filled is ever compared as a whole.
void mark_room_unused(const at::Tensor& part) {
  if (!part.defined() || !has_known_memory(part)) return;
  const RegionKey key = region_of(part);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*part.storage().unsafeGetStorageImpl());
  if (storage.uninitialised.empty()) return;
  const bool is_all = storage.written == std::pair(key.offset, key.offset + key.bytes);
  storage.has_gaps = storage.has_gaps || !is_all || key.pattern != 0;
  if (!storage.has_gaps) storage.uninitialised.clear();
}

/// Sparse tensors are their parts, and their memory is that of their values; other layouts and
/// devices cannot be read here.
void see_parts(Thread& thread, const at::Tensor& tensor, Seen& seen) {
  ring::SlotRow& row = seen.row;
  if (!has_readable_parts(tensor) || is_under_way(tensor)) {
    row.flags |= slot_flag::opaque | slot_flag::no_digest;
    return;
  }
  const Digest digest = digest_of_parts(thread, tensor);
  row.digest[0] = digest.high;
  row.digest[1] = digest.low;
  std::lock_guard guard(storages());
  Storage& storage = storages().at(storage_of_parts(tensor));
  identify(thread, storage, storage.name, seen);
  row.value = storages().next_value();
  row.writes = storage.writes;
}

}  // namespace

bool has_readable_parts(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kSparse || tensor.device().type() != at::kCPU) return false;
  const auto* const sparse =
      dynamic_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
  return sparse != nullptr && is_readable(sparse->indices()) && is_readable(sparse->values());
}

Digest digest_of_parts(Thread& thread, const at::Tensor& tensor) {
  DigestStream both;
  for_each_part(tensor, [&](const at::Tensor& part) {
    const Digest digest = digest_of(thread, content_of(part));
    both.update(std::as_bytes(std::span(&digest, 1)));
  });
  return both.finish();
}

void note_parts_written(const at::Tensor& tensor, Writer writer) {
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(storage_of_parts(tensor));
  storage.produced = true;
  storage.writer = writer;
  ++storage.writes;
}

void tell_ticket_of_parts(Thread& thread, const at::Tensor& tensor, std::uint64_t ticket,
                          Seen& seen) {
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(storage_of_parts(tensor));
  identify(thread, storage, storage.name, seen);
  seen.row.value = storages().next_value();
  seen.row.writes = storage.writes;
  seen.row.digest[0] = ticket;
  seen.row.pending |= ring::pending_flag::ticket;
}

Seen see_read(Thread& thread, const at::Tensor& tensor, Place place, bool boundary) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!is_readable(tensor, seen.geometry)) {
    if (is_on_device(tensor)) return see_read_on_device(thread, tensor, place, boundary);
    see_parts(thread, tensor, seen);
    return seen;
  }
  const Content content = content_of(tensor, seen.geometry);
  if (arrives_later(thread, tensor)) return unread(thread, tensor, seen);
  if (boundary) note_arrived(thread, tensor);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  const Known told = tell_read(thread, tensor, place, content, boundary, seen);
  if (told == Known::told) return seen;
  const bool known = told == Known::checked;

  const Digest found = digest_of_value(thread, tensor, content);
  if (known) {
    row.flags |= slot_flag::verified;
    Thread::verified_bytes.fetch_add(content.dense_size, std::memory_order_relaxed);
  }
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  Region* region = storage.regions.find(content.key);
  if (region != nullptr && region->digest == found) {
    region->checked = thread.epoch;
    tell(*region, row);
    if (region->no_content) send_content(thread, tensor, content, *region);
    note_content(*region, row);
    return seen;
  }
  const bool left_by_op = storage.filled_in_part || (row.flags & slot_flag::uninitialised) == 0;
  if (region != nullptr && storage.produced && left_by_op) row.flags |= slot_flag::changed;
  const Writer last = region != nullptr ? region->writer : storage.writer;
  if (region != nullptr) storage.regions.forget(content.key);
  Region& fresh = storage.regions.remember({.key = content.key,
                                            .digest = found,
                                            .logical = logical_digest_of(content),
                                            .value = storages().next_value(),
                                            .checked = thread.epoch,
                                            .writes = storage.writes,
                                            .writer = last});
  tell(fresh, row);
  send_content(thread, tensor, content, fresh);
  note_content(fresh, row);
  return seen;
}

Seen see_anew(Thread& thread, const at::Tensor& tensor, Place place) {
  if (tensor.defined() && has_known_memory(tensor)) {
    const Content content = content_of(tensor);
    const std::lock_guard guard(storages());
    storages().at(*tensor.storage().unsafeGetStorageImpl()).regions.forget(content.key);
  }
  return see_read(thread, tensor, place, /*boundary=*/true);
}

Seen see_read_inside(Thread& thread, const at::Tensor& tensor, Place place, std::uint64_t kernel) {
  bool left_inside = false;
  if (tensor.defined() && has_known_memory(tensor)) {
    const Content content = content_of(tensor);
    const std::lock_guard guard(storages());
    const Region* region =
        storages().at(*tensor.storage().unsafeGetStorageImpl()).regions.find(content.key);
    left_inside = region != nullptr && region->writer.lane == thread.lane() &&
                  region->writer.position != ring::kNone && region->writer.position >= kernel;
  }
  return left_inside ? see_anew(thread, tensor, place)
                     : see_read(thread, tensor, place, /*boundary=*/false);
}

Seen see_mention(Thread& thread, const at::Tensor& tensor, Place place) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!has_known_memory(tensor, seen.geometry)) {
    see_parts(thread, tensor, seen);
    return seen;
  }
  const Content content = content_of(tensor, seen.geometry);
  row.alignment = alignment_of(content);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  identify(thread, storage, storage.name_of(content.key), seen);
  if (storage.touches_uninitialised(content.key)) row.flags |= slot_flag::uninitialised;
  if (Region* region = storage.regions.find(content.key)) {
    tell(*region, row);
    note_content(*region, row);
  } else {
    row.flags |= slot_flag::no_digest;
  }
  return seen;
}

Seen see_written(Thread& thread, const at::Tensor& tensor, Place place, Writer writer,
                 bool already_written, bool keeps_rest) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!is_readable(tensor, seen.geometry)) {
    if (is_on_device(tensor))
      return see_written_on_device(thread, tensor, place, writer, already_written, keeps_rest);
    for_each_part(tensor, [&](const at::Tensor& part) {
      note_written(part, writer);
      mark_room_unused(part);
    });
    see_parts(thread, tensor, seen);
    return seen;
  }
  if (arrives_later(thread, tensor)) return unread(thread, tensor, seen);
  const Content content = content_of(tensor, seen.geometry);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  if (already_written && tell_left(thread, tensor, place, content, seen)) return seen;

  const Digest found = digest_of_value(thread, tensor, content);
  const Digest logical = logical_digest_of(content);
  const std::lock_guard guard(storages());
  Storage& storage = enter_write(impl, content.key, writer, keeps_rest);
  if (keeps_rest && storage.touches_uninitialised(content.key))
    row.flags |= slot_flag::uninitialised;
  storage.dtype = static_cast<std::int8_t>(tensor.scalar_type());
  storages().write_through(storage, content.key);
  identify(thread, storage, storage.name_of(content.key), seen);
  if (place.counts) storages().mark_unread(storage, impl);
  Region& fresh = storage.regions.remember({.key = content.key,
                                            .digest = found,
                                            .logical = logical,
                                            .value = storages().next_value(),
                                            .checked = thread.epoch,
                                            .writes = storage.writes,
                                            .writer = writer});
  tell(fresh, row);
  send_content(thread, tensor, content, fresh);
  note_content(fresh, row);
  return seen;
}

Seen see_perhaps_written(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  if (tensor.defined() && !is_readable(tensor) && is_on_device(tensor))
    return see_perhaps_written_on_device(thread, tensor, place, writer);
  return see_written(thread, tensor, place, writer, /*already_written=*/false);
}

bool is_as_known(Thread& thread, const at::Tensor& tensor) {
  if (!tensor.defined() || !is_readable(tensor)) return false;
  const Content content = content_of(tensor);
  const Digest found = digest_of_value(thread, tensor, content);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  const Region* region = storage.regions.find(content.key);
  return region != nullptr && region->digest == found;
}

Seen see_unfilled(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  row.flags |= slot_flag::no_digest;
  if (!has_known_memory(tensor, seen.geometry)) {
    row.flags |= slot_flag::opaque;
    return seen;
  }
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  if (!storage.produced) {
    storage.mark_uninitialised(0, storage.bytes);
    storage.produced = true;
    storage.writer = writer;
  }
  const bool named = storage.name.id != 0;
  identify(thread, storage,
           named ? storage.name_of(content_of(tensor, seen.geometry).key) : storage.name, seen);
  row.flags |= slot_flag::uninitialised;
  return seen;
}

Seen see_state(Thread& thread, const at::Tensor& tensor, Place place) {
  return only_layers() ? see_anew(thread, tensor, place)
                       : see_read(thread, tensor, place, /*boundary=*/false);
}

Seen see_result_of_call(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  return only_layers() ? see_written(thread, tensor, place, writer, /*already_written=*/false)
                       : see_mention(thread, tensor, place);
}

void note_written(const at::Tensor& tensor, Writer writer) {
  if (!tensor.defined() || !has_known_memory(tensor)) return;
  const Content content = content_of(tensor);
  const std::lock_guard guard(storages());
  enter_write(*tensor.storage().unsafeGetStorageImpl(), content.key, writer);
}

void note_arrives_later(Thread& thread, const at::Tensor& tensor, Writer writer) {
  if (!tensor.defined() || !is_readable(tensor)) return;
  note_written(tensor, writer);
  const std::lock_guard guard(storages());
  storages().at(*tensor.storage().unsafeGetStorageImpl()).arrives = thread.epoch;
  any_arrives_later.store(true, std::memory_order_relaxed);
}

std::uint32_t owner_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !has_known_memory(tensor)) return 0;
  const std::lock_guard guard(storages());
  const Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  if (storage.parts.empty()) return storage.name.module;
  return storage.name_of(content_of(tensor).key).module;
}

bool can_be_read(const at::Tensor& tensor) { return tensor.defined() && has_known_memory(tensor); }

RegionKey region_of(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return {};
  if (!tensor.is_contiguous() || tensor.is_conj() || tensor.is_neg()) return content_of(tensor).key;
  const std::size_t size = tensor.element_size();
  return {static_cast<std::size_t>(tensor.storage_offset()) * size,
          static_cast<std::size_t>(tensor.numel()) * size, 0};
}

void mark_handle(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return;
  const std::lock_guard guard(storages());
  storages().at(*tensor.storage().unsafeGetStorageImpl()).handle = true;
}

void mark_given(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return;
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  if (storage.produced || storage.given || !storage.uninitialised.empty()) return;
  storage.given = true;
  storages().watch(storage, impl);
}

void mark_scratch(const at::Tensor& tensor) {
  if (!tensor.defined() || !has_known_memory(tensor)) return;
  const std::lock_guard guard(storages());
  storages().at(*tensor.storage().unsafeGetStorageImpl()).scratch = true;
}

bool is_unfilled(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return false;
  const RegionKey region = region_of(tensor);
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).is_uninitialised(region);
}

void mark_unfilled_scratch(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return;
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  if (!storage.uninitialised.empty()) storage.scratch = true;
}

std::uint64_t storage_id(const at::Tensor& tensor) {
  if (!tensor.defined()) return ring::kNone;
  if (tensor.layout() == c10::kSparse)
    return storage_id(
        static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl())->values());
  if (!has_known_memory(tensor)) return ring::kNone;
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).id;
}

}  // namespace ulpscope::capture
