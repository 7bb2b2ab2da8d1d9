#include "capture/value.hpp"

#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace ulpscope::capture {
namespace {

/// A tensor's bytes as they lie in memory.
struct Content {
  StridedBytes bytes;
  RegionKey key;
  bool dense = false;
  bool contiguous = false;
  bool conj = false;
  bool neg = false;
  bool complex = false;
  std::size_t dense_size = 0;

  [[nodiscard]] std::span<const std::byte> span() const { return {bytes.data, dense_size}; }
  [[nodiscard]] bool plain() const noexcept { return dense && !conj && !neg; }
};

std::uint64_t mix(std::uint64_t hash, std::int64_t word) noexcept {
  hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 31);
}

bool is_readable(const at::Tensor& tensor) {
  return tensor.device().type() == at::kCPU && tensor.layout() == c10::kStrided &&
         tensor.has_storage() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         !tensor.is_mkldnn() && !tensor.is_nested() &&
         (tensor.numel() == 0 || tensor.storage().unsafeGetStorageImpl()->data() != nullptr);
}

Content content_of(const at::Tensor& tensor) {
  const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  const std::size_t element_size = tensor.itemsize();
  Content content;
  content.key.offset = static_cast<std::size_t>(tensor.storage_offset()) * element_size;
  content.bytes = {.data = static_cast<const std::byte*>(storage.data()) + content.key.offset,
                   .element_size = element_size,
                   .sizes = {tensor.sizes().data(), tensor.sizes().size()},
                   .strides = {tensor.strides().data(), tensor.strides().size()}};
  content.dense = tensor.is_non_overlapping_and_dense();
  content.contiguous = tensor.is_contiguous();
  content.conj = tensor.is_conj();
  content.neg = tensor.is_neg();
  content.complex = tensor.is_complex();
  content.dense_size = static_cast<std::size_t>(tensor.numel()) * element_size;
  content.key.bytes = content.dense_size;
  if (!content.dense && tensor.numel() > 0) {
    std::uint64_t pattern = 1;
    std::size_t last = 0;
    for (std::size_t i = 0; i < content.bytes.sizes.size(); ++i) {
      if (content.bytes.sizes[i] == 1) continue;
      pattern = mix(mix(pattern, content.bytes.sizes[i]), content.bytes.strides[i]);
      last += static_cast<std::size_t>((content.bytes.sizes[i] - 1) * content.bytes.strides[i]);
    }
    content.key.pattern = pattern | 1;
    content.key.bytes = (last + 1) * element_size;
  }
  if (content.conj || content.neg)
    content.key.pattern = mix(content.key.pattern | 1, content.conj ? 2 : 4) | 1;
  return content;
}

/// Packed bytes with conjugation and negation carried out: flips the sign bits that those stand
/// for.
std::span<const std::byte> resolved(Thread& thread, const Content& content) {
  thread.packed.resize(packed_size(content.bytes));
  const std::size_t size = pack_in_memory_order(content.bytes, thread.packed);
  const std::size_t part = content.bytes.element_size / (content.complex ? 2 : 1);
  const bool flip_real = content.neg;
  const bool flip_imaginary = content.neg != content.conj;
  for (std::size_t at = 0, index = 0; at + part <= size && (content.conj || content.neg);
       at += part, ++index) {
    const bool imaginary = content.complex && index % 2 == 1;
    if (imaginary ? flip_imaginary : flip_real) thread.packed[at + part - 1] ^= std::byte{0x80};
  }
  return std::span(thread.packed).first(size);
}

Digest digest_of(Thread& thread, const Content& content) {
  if (content.plain()) return digest(content.span());
  if (content.conj || content.neg) return digest(resolved(thread, content));
  return digest_in_memory_order(content.bytes);
}

/// What the level asks for beyond the digest.
void send_content(Thread& thread, const at::Tensor& tensor, const Content& content,
                  const Digest& known_as, ring::SlotRow& row) {
  if (settings().level == ring::Level::digest) return;
  const auto bytes = [&] { return content.plain() ? content.span() : resolved(thread, content); };
  if (settings().level == ring::Level::full) {
    thread.send_content(known_as, bytes());
    row.flags |= slot_flag::has_content;
  } else if (const auto dtype = static_cast<Dtype>(tensor.scalar_type()); element_size(dtype) > 0) {
    thread.send_statistics(known_as, dtype, bytes());
  }
}

ring::SlotRow blank(Thread& thread, const at::Tensor& tensor, Place place) {
  ring::SlotRow row{};
  row.role = static_cast<std::uint8_t>(place.role);
  row.index = place.index;
  row.element = place.element;
  row.storage = ring::kNone;
  row.writer = ring::kNone;
  if (!tensor.defined()) {
    row.flags = slot_flag::undefined | slot_flag::no_digest;
    return row;
  }
  row.geometry = thread.geometry(tensor);
  if (tensor.requires_grad()) row.flags |= slot_flag::requires_grad;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) row.flags |= slot_flag::wrapped_number;
  return row;
}

void identify(Thread& thread, const Storage& storage, Seen& seen) {
  seen.module = storage.module;
  seen.row.storage = storage.id;
  seen.row.writes = storage.writes;
  seen.row.writer = storage.writer.position;
  seen.row.writer_lane = storage.writer.lane;
  seen.row.flags |= storage.name_flags;
  if (storage.name != 0) seen.row.name = thread.string(storage.name);
  if (!storage.produced) seen.row.flags |= slot_flag::unproduced;
  if (storage.scratch) seen.row.flags |= slot_flag::scratch;
}

void tell(const Region& region, ring::SlotRow& row) {
  row.digest[0] = region.digest.high;
  row.digest[1] = region.digest.low;
  row.value = region.value;
  row.writes = region.writes;
  row.writer = region.writer.position;
  row.writer_lane = region.writer.lane;
  if (region.logical != Digest{}) {
    row.logical[0] = region.logical.high;
    row.logical[1] = region.logical.low;
    row.flags |= slot_flag::logical;
  }
}

/// Sparse tensors are their parts, and their memory is that of their values; other layouts and
/// devices cannot be read here.
void see_parts(Thread& thread, const at::Tensor& tensor, Seen& seen) {
  ring::SlotRow& row = seen.row;
  if (tensor.layout() != c10::kSparse || tensor.device().type() != at::kCPU) {
    row.flags |= slot_flag::opaque | slot_flag::no_digest;
    return;
  }
  const auto* parts = static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
  DigestStream both;
  for (const at::Tensor& part : {parts->indices(), parts->values()}) {
    if (!is_readable(part)) {
      row.flags |= slot_flag::opaque | slot_flag::no_digest;
      return;
    }
    const Digest digest = digest_of(thread, content_of(part));
    both.update(std::as_bytes(std::span(&digest, 1)));
  }
  const Digest digest = both.finish();
  row.digest[0] = digest.high;
  row.digest[1] = digest.low;
  std::lock_guard guard(storages());
  identify(thread, storages().at(*parts->values().storage().unsafeGetStorageImpl()), seen);
  row.value = storages().next_value();
}

/// A quantised value is its integers and what they stand for.
Digest with_quantiser(const at::Tensor& tensor, Digest integers) {
  if (!tensor.is_quantized() || tensor.qscheme() != at::kPerTensorAffine) return integers;
  const struct {
    Digest integers;
    double scale;
    std::int64_t zero_point;
  } parts{integers, tensor.q_scale(), tensor.q_zero_point()};
  return digest(std::as_bytes(std::span(&parts, 1)));
}

Digest logical_digest_of(const Content& content) {
  if (!content.plain() || content.contiguous || content.dense_size == 0) return {};
  return digest_in_logical_order(content.bytes);
}

std::uint8_t alignment_of(const Content& content) {
  return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(content.bytes.data) % 64);
}

}  // namespace

Seen see_read(Thread& thread, const at::Tensor& tensor, Place place, bool boundary) {
  Seen seen{.row = blank(thread, tensor, place)};
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!is_readable(tensor)) {
    see_parts(thread, tensor, seen);
    return seen;
  }
  const Content content = content_of(tensor);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  bool known = false;
  {
    const std::lock_guard guard(storages());
    Storage& storage = storages().at(impl);
    identify(thread, storage, seen);
    const bool unwritten = storage.touches_uninitialised(content.key);
    if (unwritten) row.flags |= slot_flag::uninitialised;
    if (const Region* region = storage.regions.find(content.key)) {
      known = true;
      const bool trusted =
          !boundary || settings().verify == ring::Verify::off || region->checked == thread.epoch;
      if (trusted) {
        tell(*region, row);
        if (settings().level == ring::Level::full) row.flags |= slot_flag::has_content;
        return seen;
      }
    } else if (unwritten && !boundary) {
      row.flags |= slot_flag::no_digest;
      return seen;
    }
  }

  const Digest found = with_quantiser(tensor, digest_of(thread, content));
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
    if (settings().level == ring::Level::full) row.flags |= slot_flag::has_content;
    return seen;
  }
  if (region != nullptr && storage.produced && (row.flags & slot_flag::uninitialised) == 0)
    row.flags |= slot_flag::changed;
  const Writer last = region != nullptr ? region->writer : storage.writer;
  if (region != nullptr) storage.regions.forget(content.key);
  const Region& fresh = storage.regions.remember({.key = content.key,
                                                  .digest = found,
                                                  .logical = logical_digest_of(content),
                                                  .value = storages().next_value(),
                                                  .checked = thread.epoch,
                                                  .writes = storage.writes,
                                                  .writer = last});
  tell(fresh, row);
  send_content(thread, tensor, content, found, row);
  return seen;
}

Seen see_mention(Thread& thread, const at::Tensor& tensor, Place place) {
  Seen seen{.row = blank(thread, tensor, place)};
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!is_readable(tensor)) {
    see_parts(thread, tensor, seen);
    return seen;
  }
  const Content content = content_of(tensor);
  row.alignment = alignment_of(content);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  identify(thread, storage, seen);
  if (storage.touches_uninitialised(content.key)) row.flags |= slot_flag::uninitialised;
  if (const Region* region = storage.regions.find(content.key)) {
    tell(*region, row);
    if (settings().level == ring::Level::full) row.flags |= slot_flag::has_content;
  } else {
    row.flags |= slot_flag::no_digest;
  }
  return seen;
}

Seen see_written(Thread& thread, const at::Tensor& tensor, Place place, Writer writer,
                 bool already_written) {
  Seen seen{.row = blank(thread, tensor, place)};
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  if (!is_readable(tensor)) {
    see_parts(thread, tensor, seen);
    return seen;
  }
  const Content content = content_of(tensor);
  row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  if (already_written) {
    const std::lock_guard guard(storages());
    Storage& storage = storages().at(impl);
    if (const Region* region = storage.regions.find(content.key)) {
      identify(thread, storage, seen);
      tell(*region, row);
      if (settings().level == ring::Level::full) row.flags |= slot_flag::has_content;
      return seen;
    }
    if (storage.touches_uninitialised(content.key)) {
      identify(thread, storage, seen);
      row.flags |= slot_flag::uninitialised | slot_flag::no_digest;
      return seen;
    }
  }

  const Digest found = with_quantiser(tensor, digest_of(thread, content));
  const Digest logical = logical_digest_of(content);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  storage.regions.forget(content.key);
  storage.mark_written(content.key.offset, content.key.offset + content.key.bytes);
  storage.produced = true;
  storage.writer = writer;
  ++storage.writes;
  storages().write_through(storage, content.key);
  identify(thread, storage, seen);
  const Region& fresh = storage.regions.remember({.key = content.key,
                                                  .digest = found,
                                                  .logical = logical,
                                                  .value = storages().next_value(),
                                                  .checked = thread.epoch,
                                                  .writes = storage.writes,
                                                  .writer = writer});
  tell(fresh, row);
  send_content(thread, tensor, content, found, row);
  return seen;
}

bool is_as_known(Thread& thread, const at::Tensor& tensor) {
  if (!tensor.defined() || !is_readable(tensor)) return false;
  const Content content = content_of(tensor);
  const Digest found = with_quantiser(tensor, digest_of(thread, content));
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  const Region* region = storage.regions.find(content.key);
  return region != nullptr && region->digest == found;
}

Seen see_unfilled(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  Seen seen{.row = blank(thread, tensor, place)};
  ring::SlotRow& row = seen.row;
  if (!tensor.defined()) return seen;
  row.flags |= slot_flag::no_digest;
  if (!is_readable(tensor)) {
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
  identify(thread, storage, seen);
  row.flags |= slot_flag::uninitialised;
  return seen;
}

namespace {

/// Forgets what was known of the bytes: whatever wrote them was not seen, and is no surprise.
Seen see_anew(Thread& thread, const at::Tensor& tensor, Place place) {
  if (tensor.defined() && is_readable(tensor)) {
    const Content content = content_of(tensor);
    const std::lock_guard guard(storages());
    storages().at(*tensor.storage().unsafeGetStorageImpl()).regions.forget(content.key);
  }
  return see_read(thread, tensor, place, /*boundary=*/true);
}

}  // namespace

Seen see_state(Thread& thread, const at::Tensor& tensor, Place place) {
  return only_layers() ? see_anew(thread, tensor, place)
                       : see_read(thread, tensor, place, /*boundary=*/false);
}

Seen see_result_of_call(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  return only_layers() ? see_written(thread, tensor, place, writer, /*already_written=*/false)
                       : see_mention(thread, tensor, place);
}

void note_written(const at::Tensor& tensor, Writer writer) {
  if (!tensor.defined() || !is_readable(tensor)) return;
  const Content content = content_of(tensor);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  storage.regions.forget(content.key);
  storage.mark_written(content.key.offset, content.key.offset + content.key.bytes);
  storage.produced = true;
  storage.writer = writer;
  ++storage.writes;
}

std::uint32_t owner_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !is_readable(tensor)) return 0;
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).module;
}

bool can_be_read(const at::Tensor& tensor) { return tensor.defined() && is_readable(tensor); }

void mark_scratch(const at::Tensor& tensor) {
  if (!tensor.defined() || !is_readable(tensor)) return;
  const std::lock_guard guard(storages());
  storages().at(*tensor.storage().unsafeGetStorageImpl()).scratch = true;
}

std::uint64_t storage_id(const at::Tensor& tensor) {
  if (!tensor.defined()) return ring::kNone;
  if (tensor.layout() == c10::kSparse)
    return storage_id(
        static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl())->values());
  if (!is_readable(tensor)) return ring::kNone;
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).id;
}

}  // namespace ulpscope::capture
