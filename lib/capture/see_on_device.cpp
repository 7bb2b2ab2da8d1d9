#include "capture/see_on_device.hpp"

#include <optional>

#include "capture/content.hpp"
#include "capture/device_values.hpp"
#include "capture/graphs.hpp"
#include "capture/slot_rows.hpp"

namespace ulpscope::capture {
namespace {

[[nodiscard]] Seen unreadable(Seen seen) {
  seen.row.flags |= slot_flag::opaque | slot_flag::no_digest;
  return seen;
}

/// Says which digest a slot with a ticket is expected to have.
void expect(Region& region, ring::SlotRow& row, std::uint8_t otherwise) {
  if (region.ticket != 0) settle(region);
  row.pending |= otherwise;
  if (region.ticket != 0) {
    row.pending |= ring::pending_flag::expects_ticket;
    row.logical[0] = region.ticket;
  } else {
    row.pending |= ring::pending_flag::expects_digest;
    row.logical[0] = region.digest.high;
    row.logical[1] = region.digest.low;
  }
}

}  // namespace

Seen see_read_on_device(Thread& thread, const at::Tensor& tensor, Place place, bool boundary) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  const Content content = content_of(tensor);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  if (graphs_are_captured()) graph_reads(tensor, content);
  if (tell_read(thread, tensor, place, content, boundary, seen) == Known::told) return seen;

  const std::uint64_t ticket = request_digest(tensor, content);
  if (ticket == 0) return unreadable(seen);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  Region* region = storage.regions.find(content.key);
  if (region == nullptr) {
    region = &storage.regions.remember({.key = content.key,
                                        .value = storages().next_value(),
                                        .writes = storage.writes,
                                        .writer = storage.writer});
  } else {
    row.flags |= slot_flag::verified;
    Thread::verified_bytes.fetch_add(content.dense_size, std::memory_order_relaxed);
    const bool known = storage.produced && (row.flags & slot_flag::uninitialised) == 0;
    expect(*region, row, known ? ring::pending_flag::marks_change : std::uint8_t{0});
  }
  region->ticket = ticket;
  region->checked = thread.epoch;
  region->no_content = false;
  tell_unsettled(*region, row);  // which leaves what is expected
  note_content(*region, row);
  return seen;
}

Seen see_written_on_device(Thread& thread, const at::Tensor& tensor, Place place, Writer writer,
                           bool already_written, bool keeps_rest) {
  Seen seen = blank(thread, tensor, place);
  ring::SlotRow& row = seen.row;
  const Content content = content_of(tensor);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  if (graphs_are_captured()) graph_writes(tensor, content);
  if (already_written && tell_left(thread, tensor, place, content, seen)) return seen;

  const std::uint64_t ticket = request_digest(tensor, content);
  const std::lock_guard guard(storages());
  Storage& storage = enter_write(impl, content.key, writer, keeps_rest);
  if (keeps_rest && storage.touches_uninitialised(content.key))
    row.flags |= slot_flag::uninitialised;
  storages().write_through(storage, content.key);
  identify(thread, storage, storage.name_of(content.key), seen);
  if (ticket == 0) return unreadable(seen);
  const Region& fresh = storage.regions.remember({.key = content.key,
                                                  .ticket = ticket,
                                                  .value = storages().next_value(),
                                                  .checked = thread.epoch,
                                                  .writes = storage.writes,
                                                  .writer = writer});
  tell_unsettled(fresh, row);
  note_content(fresh, row);
  return seen;
}

Seen see_perhaps_written_on_device(Thread& thread, const at::Tensor& tensor, Place place,
                                   Writer writer) {
  const Content content = content_of(tensor);
  std::optional<Region> before;
  {
    const std::lock_guard guard(storages());
    Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
    if (const Region* region = storage.regions.find(content.key)) before = *region;
  }
  Seen seen = see_written_on_device(thread, tensor, place, writer, /*already_written=*/false);
  if (before && (seen.row.pending & ring::pending_flag::ticket) != 0)
    expect(*before, seen.row, ring::pending_flag::only_if_changed);
  return seen;
}

}  // namespace ulpscope::capture
