#include "capture/collectives.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "capture/collective_table.hpp"
#include "capture/content.hpp"
#include "capture/memory.hpp"
#include "capture/slot_rows.hpp"
#include "capture/step_window.hpp"

namespace ulpscope::capture {
namespace {

/// Apart from those that a device's values have.
constexpr std::uint64_t kTicketsOfCollectives = std::uint64_t{1} << 62;

struct Arriving {
  std::uint64_t ticket = 0;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
  const c10::StorageImpl* address = nullptr;
  const void* data = nullptr;
  std::size_t bytes = 0;
  Content content;
  std::int8_t dtype = 0;
  std::uint32_t lane = 0;
  std::uint64_t position = 0;
  std::uint64_t moment = 0;
  const void* work = nullptr;  ///< only compared: the program may have released it
  bool has_future = false;     ///< the program may have waited on that
  /// What is read if the memory itself is replaced, as for sparse tensors.
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> parts{
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>()};
  const c10::TensorImpl* parts_address = nullptr;  ///< null: the memory stays

  [[nodiscard]] bool overlaps(const at::Tensor& tensor) const {
    if (tensor.is_sparse()) return parts_address == tensor.unsafeGetTensorImpl();
    return address == tensor.storage().unsafeGetStorageImpl() &&
           content.key.overlaps(content_of(tensor).key);
  }
  [[nodiscard]] bool is_gone() const {
    return parts_address == nullptr ? storage.expired() : parts.expired();
  }
  [[nodiscard]] Writer writer() const { return {position, lane, moment}; }
};

/// Whether anything is known to arrive in it.
bool can_arrive(const at::Tensor& tensor) {
  return tensor.defined() && (is_readable(tensor) || has_readable_parts(tensor));
}

struct Exchanges {
  std::mutex mutex;  ///< held while one is digested, so that no other thread reads it half known
  std::pmr::vector<Arriving> arriving{&process_memory()};
  std::uint64_t tickets = 0;
  std::atomic<bool> forked{false};  ///< what arrives is the parent's
};

std::atomic<std::size_t> under_way{0};

Exchanges& exchanges() {
  static Exchanges& instance = immortal<Exchanges>();
  return instance;
}

/// What the level needs beyond the digest. False if its bytes are left out.
bool send_arrived(Thread& thread, const Arriving& one, const Digest& digest) {
  const auto bytes = [&] {
    return one.content.plain() ? one.content.span() : resolved(thread, one.content);
  };
  const auto dtype = static_cast<Dtype>(one.dtype);
  if (settings().level == ring::Level::full) {
    if (!in_full_steps()) return false;
    thread.send_content(digest, bytes());
  } else if (settings().level == ring::Level::stats && element_size(dtype) > 0) {
    thread.send_statistics(digest, dtype, bytes());
  }
  return true;
}

void resolve_parts(Thread& thread, const Arriving& one) {
  const auto held = one.parts.lock();
  const at::Tensor tensor = held ? at::Tensor(held) : at::Tensor();
  if (!tensor.defined() || !has_readable_parts(tensor))
    return thread.send_resolved(one.ticket, {}, {}, /*failed=*/true, true);
  thread.send_resolved(one.ticket, digest_of_parts(thread, tensor), {}, /*failed=*/false, true);
  note_parts_written(tensor, one.writer());
}

void resolve(Thread& thread, const Arriving& one) {
  if (one.parts_address != nullptr) return resolve_parts(thread, one);
  const auto held = one.storage.lock();
  const bool stands = held && held->data() == one.data && held->nbytes() == one.bytes;
  if (!stands) return thread.send_resolved(one.ticket, {}, {}, /*failed=*/true, true);
  const Digest digest = digest_of(thread, one.content);
  const Digest logical = logical_digest_of(one.content);
  const bool no_content = !send_arrived(thread, one, digest);
  thread.send_resolved(one.ticket, digest, logical, /*failed=*/false, no_content);
  const std::lock_guard guard(storages());
  Region* const region = storages().at(*held).regions.find(one.content.key);
  if (region == nullptr || region->ticket != one.ticket) return;
  region->ticket = 0;
  region->digest = digest;
  region->logical = logical;
  region->no_content = no_content;
  region->checked = thread.epoch;
}

/// Calls end(one) for those to which this applies, and removes them.
template <class Predicate, class End>
void end_if(Predicate&& is_so, End&& end) {
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  const auto rest = std::stable_partition(self.arriving.begin(), self.arriving.end(),
                                          [&](const Arriving& one) { return !is_so(one); });
  for (auto one = rest; one != self.arriving.end(); ++one) end(*one);
  self.arriving.erase(rest, self.arriving.end());
  under_way.store(self.arriving.size(), std::memory_order_release);
}

/// Its content stays unknown.
void give_up(Thread& thread, const Arriving& one) {
  thread.send_resolved(one.ticket, {}, {}, /*failed=*/true, /*no_content=*/true);
  const auto held = one.storage.lock();
  if (!held) return;
  const std::lock_guard guard(storages());
  storages().at(*held).regions.forget(one.content.key);
}

template <class Predicate>
void resolve_if(Thread& thread, Predicate&& arrived) {
  end_if(arrived, [&](const Arriving& one) { resolve(thread, one); });
}

/// Of a tensor whose memory is replaced.
Seen see_parts_arriving(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  Seen seen = blank(thread, tensor, place);
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  const std::uint64_t ticket = kTicketsOfCollectives + ++self.tickets;
  tell_ticket_of_parts(thread, tensor, ticket, seen);
  Arriving& one = self.arriving.emplace_back();
  one.ticket = ticket;
  one.lane = thread.lane();
  one.position = writer.position;
  one.moment = writer.moment;
  one.parts = tensor.getIntrusivePtr();
  one.parts_address = tensor.unsafeGetTensorImpl();
  under_way.store(self.arriving.size(), std::memory_order_release);
  return seen;
}

/// The C++ object that a TorchScript object wraps; null for other values.
c10::intrusive_ptr<torch::CustomClassHolder> capsule_of(const c10::IValue& value) {
  if (!value.isObject()) return {};
  const auto& slots = value.toObjectRef().slots();
  return slots.size() == 1 && slots[0].isCapsule() ? slots[0].toCapsule()
                                                   : c10::intrusive_ptr<torch::CustomClassHolder>{};
}

}  // namespace

GroupMember group_member(c10::ArrayRef<const c10::IValue> inputs) {
  for (const c10::IValue& input : inputs) {
    const auto object = capsule_of(input);
    if (const auto* group = dynamic_cast<const c10d::ProcessGroup*>(object.get()))
      return {group->getRank(), group};
  }
  return {};
}

c10::IValue told_by_reduction(const c10d::ReduceOp& reduction) {
  constexpr std::array kNames = {"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
                                 "BAND", "BOR", "BXOR",    "PREMUL_SUM", "UNUSED"};
  return reduction.op_ < kNames.size() ? kNames[reduction.op_] : "unknown";
}

c10::IValue told_by_group(int rank, int size) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

c10::IValue told_by_object(const c10::IValue& value) {
  const auto object = capsule_of(value);
  if (const auto* group = dynamic_cast<const c10d::ProcessGroup*>(object.get()))
    return told_by_group(group->getRank(), group->getSize());
  if (const auto* reduction = dynamic_cast<const c10d::ReduceOp*>(object.get()))
    return told_by_reduction(*reduction);
  return value;
}

Access access_in_collective(const OpInfo& info, std::size_t argument,
                            c10::ArrayRef<const c10::IValue> inputs, int rank) {
  const Access declared = info.arguments[argument].access;
  if (declared != Access::written) return declared;
  const auto sender = sending_rank_argument(info.name);
  if (!sender || *sender >= inputs.size() || !inputs[*sender].isInt()) return declared;
  return rank < 0 || rank == inputs[*sender].toInt() ? declared : Access::overwritten;
}

Seen see_arriving(Thread& thread, const at::Tensor& tensor, Place place, Writer writer) {
  if (!can_arrive(tensor) || tensor.is_quantized())
    return see_written(thread, tensor, place, writer, /*already_written=*/false);
  // Memory that was released is not read any more: nothing needs to wait for its digest.
  resolve_if(thread, [](const Arriving& one) { return one.is_gone(); });
  if (!is_readable(tensor)) return see_parts_arriving(thread, tensor, place, writer);
  Seen seen = blank(thread, tensor, place);
  const Content content = content_of(tensor);
  seen.row.alignment = alignment_of(content);
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  Exchanges& self = exchanges();
  const std::lock_guard arriving(self.mutex);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  storage.dtype = static_cast<std::int8_t>(tensor.scalar_type());
  storage.regions.forget(content.key);
  storage.mark_written(content.key.offset, content.key.offset + content.key.bytes);
  storage.produced = true;
  storage.writer = writer;
  ++storage.writes;
  storages().write_through(storage, content.key);
  identify(thread, storage, storage.name_of(content.key), seen);
  const Region& fresh = storage.regions.remember({.key = content.key,
                                                  .ticket = kTicketsOfCollectives + ++self.tickets,
                                                  .value = storages().next_value(),
                                                  .writes = storage.writes,
                                                  .writer = writer});
  tell_unsettled(fresh, seen.row);
  note_content(fresh, seen.row);
  self.arriving.push_back({.ticket = fresh.ticket,
                           .storage = storage.alive,
                           .address = &impl,
                           .data = storage.data,
                           .bytes = storage.bytes,
                           .content = content,
                           .dtype = storage.dtype,
                           .lane = thread.lane(),
                           .position = writer.position,
                           .moment = writer.moment});
  under_way.store(self.arriving.size(), std::memory_order_release);
  return seen;
}

const void* work_of(const c10::IValue& result) {
  const auto object = capsule_of(result);
  return dynamic_cast<const c10d::Work*>(object.get());
}

void note_work(const Thread& thread, std::uint64_t position, const void* work) {
  if (work == nullptr || under_way.load(std::memory_order_acquire) == 0) return;
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  for (Arriving& one : self.arriving) {
    // The address of a destroyed one may be reused.
    if (one.work == work) one.work = nullptr;
    if (one.lane == thread.lane() && one.position >= position) one.work = work;
  }
}

void note_arrived(Thread& thread, const at::Tensor& tensor) {
  if (under_way.load(std::memory_order_acquire) == 0 || !can_arrive(tensor)) return;
  resolve_if(thread, [&](const Arriving& one) { return one.overlaps(tensor); });
}

bool is_under_way(const at::Tensor& tensor) {
  if (under_way.load(std::memory_order_acquire) == 0 || !can_arrive(tensor)) return false;
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  return std::any_of(self.arriving.begin(), self.arriving.end(),
                     [&](const Arriving& one) { return !one.has_future && one.overlaps(tensor); });
}

void give_up_replaced(Thread& thread, const at::Tensor& tensor) {
  end_if([&](const Arriving& one) { return one.overlaps(tensor); },
         [&](const Arriving& one) { give_up(thread, one); });
}

void note_future(const void* work) noexcept {
  if (under_way.load(std::memory_order_acquire) == 0) return;
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  for (Arriving& one : self.arriving) one.has_future = one.has_future || one.work == work;
}

void note_of_backend(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return;
  const std::lock_guard guard(storages());
  storages().at(*tensor.storage().unsafeGetStorageImpl()).of_backend = true;
}

bool delivers(c10::ArrayRef<const c10::IValue> inputs) {
  if (under_way.load(std::memory_order_acquire) == 0) return false;
  if (inputs.size() < 2 || !inputs[0].isTensor() || !inputs[1].isTensor()) return false;
  const at::Tensor& to = inputs[0].toTensor();
  const at::Tensor& from = inputs[1].toTensor();
  if (!can_be_read(to) || !can_be_read(from)) return false;
  if (!is_arriving(*to.storage().unsafeGetStorageImpl())) return false;
  const std::lock_guard guard(storages());
  return storages().at(*from.storage().unsafeGetStorageImpl()).of_backend;
}

void note_work_done(const void* work) noexcept {
  if (under_way.load(std::memory_order_acquire) == 0) return;
  Thread* const thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded("the end of a collective",
          [&] { resolve_if(*thread, [&](const Arriving& one) { return one.work == work; }); });
}

bool is_arriving(const c10::StorageImpl& storage) {
  if (under_way.load(std::memory_order_acquire) == 0) return false;
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  return std::any_of(self.arriving.begin(), self.arriving.end(),
                     [&](const Arriving& one) { return one.address == &storage; });
}

void give_up_arriving(Thread& thread) {
  if (under_way.load(std::memory_order_acquire) == 0) return;
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  for (const Arriving& one : self.arriving)
    thread.send_resolved(one.ticket, {}, {}, /*failed=*/true, /*no_content=*/true);
  self.arriving.clear();
  under_way.store(0, std::memory_order_release);
}

bool is_thread_of_backend() noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"pt_gloo", "pt_nccl", "pt_mpi", "pt_ucc",
                                                      "pt_xccl"};
  std::array<char, 16> text{};
  if (pthread_getname_np(pthread_self(), text.data(), text.size()) != 0) return false;
  const std::string_view name = text.data();
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

void lock_collectives() { exchanges().mutex.lock(); }
void unlock_collectives() { exchanges().mutex.unlock(); }

void forget_collectives_of_parent() {
  Exchanges& self = exchanges();
  const std::lock_guard guard(self.mutex);
  if (!self.forked.exchange(false, std::memory_order_relaxed)) return;
  for (const Arriving& one : self.arriving) {
    const auto held = one.storage.lock();
    if (!held) continue;
    const std::lock_guard storage(storages());
    storages().at(*held).regions.forget(one.content.key);
  }
  self.arriving.clear();
}

void forget_collectives() noexcept {
  if (under_way.exchange(0, std::memory_order_acq_rel) == 0) return;
  exchanges().forked.store(true, std::memory_order_relaxed);
}

}  // namespace ulpscope::capture
