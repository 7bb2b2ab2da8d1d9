#include "capture/thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "capture/collectives.hpp"
#include "capture/content.hpp"
#include "capture/module_calls.hpp"
#include "capture/outcomes.hpp"
#include "capture/thread_starts.hpp"
#include "ulpscope/statistics.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::uint32_t kLargestPiece = 1 << 20;

// Initial-exec: a library loaded by dlopen would otherwise take its thread-local memory from the
// program's allocator.
__attribute__((tls_model("initial-exec"))) constinit thread_local Thread* current_thread = nullptr;
__attribute__((tls_model("initial-exec"))) constinit thread_local bool ended = false;

void release(Thread* thread) noexcept {
  thread->~Thread();
  process_memory().deallocate(thread, sizeof(Thread), alignof(Thread));
}

void end_thread(void* /*thread*/) noexcept {
  Thread::close_current();
  detail::InHook::leave_seat();
}

pthread_key_t thread_end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t created{};
    if (pthread_key_create(&created, &end_thread) != 0) throw std::runtime_error("no thread key");
    return created;
  }();
  return key;
}

std::uint16_t geometry_flags(const at::Tensor& tensor, c10::Layout layout) {
  std::uint16_t flags = 0;
  if (tensor.is_conj()) flags |= geometry_flag::conj;
  if (tensor.is_neg()) flags |= geometry_flag::neg;
  if (tensor.is_quantized()) flags |= geometry_flag::quantised;
  if (tensor.is_inference()) flags |= geometry_flag::inference;
  if (layout != c10::kStrided) {
    flags |= geometry_flag::sparse;
    return flags;
  }
  if (tensor.is_non_overlapping_and_dense()) flags |= geometry_flag::dense;
  if (tensor.is_contiguous()) flags |= geometry_flag::contiguous;
  return flags;
}

}  // namespace

void stop_recording(std::string_view reason) noexcept {
  if (!recording()) return;
  if (current_thread != nullptr) {
    try {
      current_thread->send_notice(reason, true);
    } catch (...) {  // the reason is lost, the stop is not
    }
  }
  detail::end_session(reason);
}

std::atomic<std::uint64_t> Thread::verified_bytes{0};

Thread* Thread::current() noexcept {
  if (detail::newly_forked.load(std::memory_order_relaxed)) detail::begin_in_child();
  if (!recording() || ended) return nullptr;
  Thread* thread = current_thread;
  if (thread != nullptr && thread->generation_ == generation())
    return thread->inside_ ? nullptr : thread;
  guarded("opening a thread's lane", [&] {
    if (is_thread_of_backend()) {
      ended = true;
      return;
    }
    if (thread != nullptr) release(std::exchange(current_thread, nullptr));
    thread = nullptr;
    const std::uint64_t session = generation();
    OpenedRing opened = open_ring();
    if (!opened.producer.recording()) return;
    void* memory = process_memory().allocate(sizeof(Thread), alignof(Thread));
    thread = new (memory) Thread(std::move(opened), session);
    current_thread = thread;
    pthread_setspecific(thread_end_key(), thread);
    thread->send_creation();
    send_outcomes_at_exit();
  });
  return thread;
}

Thread* Thread::opened() noexcept {
  Thread* const thread = current_thread;
  const bool usable = thread != nullptr && recording() && !ended && !thread->inside_ &&
                      thread->generation_ == generation();
  return usable ? thread : nullptr;
}

void Thread::close_current() noexcept {
  ended = true;
  leave_current();
}

void Thread::leave_current() noexcept {
  const detail::InHook in_hook;
  if (current_thread == nullptr || silent()) return;
  if (recording() && current_thread->generation_ == generation())
    guarded("the end of a thread", [] {
      close_frames_above(*current_thread, 0);
      send_outcomes_of_thread(*current_thread);
      std::array<char, 24> digits{};
      const auto end = std::to_chars(digits.begin(), digits.end(), verified_bytes.load()).ptr;
      current_thread->send_environment(
          "capture.verified_bytes", {digits.data(), static_cast<std::size_t>(end - digits.data())});
    });
  release(std::exchange(current_thread, nullptr));
}

Thread::Thread(OpenedRing opened, std::uint64_t generation)
    : frames(&process_memory()),
      slots(&process_memory()),
      arguments(&process_memory()),
      written(&process_memory()),
      packed(&process_memory()),
      epoch(next_epoch()),
      running(&process_memory()),
      open_calls(&process_memory()),
      closed_calls(&process_memory()),
      crossed(&process_memory()),
      read(&process_memory()),
      call_stack(&process_memory()),
      stack_frames(&process_memory()),
      stack_ids(&process_memory()),
      made_in_step(&process_memory()),
      wanted_ops(&process_memory()),
      wanted_modules(&process_memory()),
      full_ops(&process_memory()),
      freed(&process_memory()),
      ring_(std::move(opened.producer)),
      lane_(opened.lane),
      generation_(generation),
      string_ids_(&process_memory()),
      op_ids_(&process_memory()),
      gradients_(&process_memory()),
      geometry_ids_(&process_memory()),
      geometries_(&process_memory()) {
  frames.reserve(64);
  slots.reserve(1024);
  arguments.reserve(1 << 16);
}

std::byte* Thread::room(std::uint32_t size) {
  void* memory = ring_.reserve(size);
  if (memory == nullptr && !ring_.recording()) detail::end_session({});
  return static_cast<std::byte*>(memory);
}

std::uint32_t Thread::define_string(std::string_view text) {
  const ring::StringMessage message{
      .header = {ring::padded(sizeof message + text.size()), ring::MessageKind::string, 0},
      .id = ++strings_,
      .length = static_cast<std::uint32_t>(text.size())};
  if (std::byte* memory = room(message.header.size)) {
    std::memcpy(memory, &message, sizeof message);
    std::memcpy(memory + sizeof message, text.data(), text.size());
    ring_.commit(message.header.size);
  }
  return message.id;
}

std::uint32_t Thread::string(std::uint32_t name) {
  if (name == 0) return 0;
  if (string_ids_.size() <= name) string_ids_.resize(name + 1);
  std::uint32_t& id = string_ids_[name];
  if (id == 0) id = define_string(name_of(name));
  return id;
}

std::uint32_t Thread::name_of_gradient(std::uint32_t parameter) {
  if (gradients_.size() <= parameter) gradients_.resize(parameter + 1);
  std::uint32_t& name = gradients_[parameter];
  if (name == 0) {
    std::pmr::string full(capture::name_of(parameter), &process_memory());
    name = name_id(full.append(".grad"));
  }
  return name;
}

std::uint32_t Thread::op(const OpInfo& info) {
  if (op_ids_.size() <= info.index) op_ids_.resize(info.index + 1);
  std::uint32_t& id = op_ids_[info.index];
  if (id != 0) return id;
  id = ++ops_;
  ring::OpMessage message{};
  message.header = {sizeof message, ring::MessageKind::op, 0};
  message.id = id;
  message.name = define_string(info.name);
  message.overload = info.overload.empty() ? 0 : define_string(info.overload);
  message.argument_names = info.argument_names.empty() ? 0 : define_string(info.argument_names);
  message.return_names = info.return_names.empty() ? 0 : define_string(info.return_names);
  if (std::byte* memory = room(sizeof message)) {
    std::memcpy(memory, &message, sizeof message);
    ring_.commit(sizeof message);
  }
  return id;
}

std::uint32_t Thread::geometry(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::Layout layout = is_ordinary(impl) ? c10::kStrided : impl.layout();
  const bool known = has_shape(tensor, layout);
  const bool strided = known && layout == c10::kStrided;
  const c10::IntArrayRef sizes = known ? impl.sizes() : c10::IntArrayRef();
  const c10::IntArrayRef strides = strided ? impl.strides() : c10::IntArrayRef();
  const c10::Device device = impl.device();
  return number({.dtype = static_cast<std::uint8_t>(tensor.scalar_type()),
                 .device_type = static_cast<std::uint8_t>(device.type()),
                 .device_index = device.index(),
                 .layout = static_cast<std::uint8_t>(layout),
                 .flags = known ? geometry_flags(tensor, layout) : std::uint16_t{0},
                 .has_strides = strided,
                 .storage_offset = strided ? impl.storage_offset() : 0,
                 .sizes = {sizes.data(), sizes.size()},
                 .strides = {strides.data(), strides.size()}});
}

const KnownGeometry* Thread::known_geometry(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!GeometryCache::keeps(impl) || !impl.unsafe_storage()) return nullptr;
  if (const KnownGeometry* known = geometries_.find(impl)) return known;
  return &geometries_.remember(impl, {geometry(tensor), content_of(tensor)});
}

std::uint32_t Thread::row_geometry(std::int8_t dtype, std::int64_t elements) {
  constexpr std::int64_t kStep = 1;
  return number({.dtype = static_cast<std::uint8_t>(dtype),
                 .device_index = -1,
                 .flags = geometry_flag::dense | geometry_flag::contiguous,
                 .has_strides = true,
                 .sizes = std::span(&elements, 1),
                 .strides = std::span(&kStep, 1)});
}

std::uint32_t Thread::number(const Geometry& geometry) {
  const auto [id, added] = geometry_ids_.number(geometry);
  if (added) define_geometry(id, geometry);
  return id;
}

void Thread::define_geometry(std::uint32_t id, const Geometry& geometry) {
  const auto [sizes, strides] = std::pair(geometry.sizes, geometry.strides);
  ring::GeometryMessage message{};
  message.header = {ring::padded(sizeof message + sizes.size_bytes() + strides.size_bytes()),
                    ring::MessageKind::geometry, 0};
  message.id = id;
  message.dtype = geometry.dtype;
  message.device_type = geometry.device_type;
  message.device_index = geometry.device_index;
  message.layout = geometry.layout;
  message.flags = geometry.flags;
  message.has_strides = geometry.has_strides ? 1 : 0;
  message.storage_offset = geometry.storage_offset;
  message.dimensions = static_cast<std::uint8_t>(sizes.size());
  std::byte* memory = room(message.header.size);
  if (memory == nullptr) return;
  std::memcpy(memory, &message, sizeof message);
  memory += sizeof message;
  if (!sizes.empty()) std::memcpy(memory, sizes.data(), sizes.size_bytes());
  memory += sizes.size_bytes();
  if (!strides.empty()) std::memcpy(memory, strides.data(), strides.size_bytes());
  ring_.commit(message.header.size);
}

std::uint32_t Thread::define_stack(std::span<const ring::StackFrame> stack) {
  ring::StackMessage message{};
  message.header = {ring::padded(sizeof message + stack.size_bytes()), ring::MessageKind::stack, 0};
  message.id = ++stacks_;
  message.frames = static_cast<std::uint32_t>(stack.size());
  if (std::byte* memory = room(message.header.size)) {
    std::memcpy(memory, &message, sizeof message);
    std::memcpy(memory + sizeof message, stack.data(), stack.size_bytes());
    ring_.commit(message.header.size);
  }
  return message.id;
}

void Thread::send_event(ring::EventRow row, std::span<const ring::SlotRow> event_slots,
                        std::span<const std::byte> event_arguments) {
  const std::size_t size = sizeof row + event_slots.size_bytes() + event_arguments.size();
  row.header = {ring::padded(size), ring::MessageKind::event, 0};
  row.slots = static_cast<std::uint16_t>(event_slots.size());
  row.argument_bytes = static_cast<std::uint32_t>(event_arguments.size());
  row.pending = std::any_of(event_slots.begin(), event_slots.end(),
                            [](const ring::SlotRow& slot) { return slot.pending != 0; })
                    ? 1
                    : 0;
  if (event_slots.size() > 0xffff) throw std::length_error("an op with more than 65,535 tensors");
  std::byte* memory = room(row.header.size);
  if (memory == nullptr) {
    if (ring_.recording()) throw std::length_error("an event larger than half the ring");
    return;
  }
  std::memcpy(memory, &row, sizeof row);
  memory += sizeof row;
  if (!event_slots.empty()) std::memcpy(memory, event_slots.data(), event_slots.size_bytes());
  memory += event_slots.size_bytes();
  if (!event_arguments.empty()) std::memcpy(memory, event_arguments.data(), event_arguments.size());
  ring_.commit(row.header.size);
}

void Thread::send_content(const Digest& digest, std::span<const std::byte> bytes) {
  Digest& sent = sent_[digest.low % sent_.size()];
  if (sent == digest && digest != Digest{}) return;
  sent = digest;
  std::size_t offset = 0;
  do {
    const std::size_t room_for = std::min<std::size_t>(kLargestPiece, ring_.max_message() / 2);
    const std::size_t length = std::min(bytes.size() - offset, room_for);
    ring::ContentMessage message{};
    message.header = {ring::padded(sizeof message + length), ring::MessageKind::content, 0};
    message.digest[0] = digest.high;
    message.digest[1] = digest.low;
    message.total = bytes.size();
    message.offset = offset;
    message.length = static_cast<std::uint32_t>(length);
    std::byte* memory = room(message.header.size);
    if (memory == nullptr) return;
    std::memcpy(memory, &message, sizeof message);
    if (length > 0) std::memcpy(memory + sizeof message, bytes.data() + offset, length);
    ring_.commit(message.header.size);
    offset += length;
  } while (offset < bytes.size());
}

void Thread::send_statistics(const Digest& digest, Dtype dtype, std::span<const std::byte> bytes) {
  if (!was_sent(digest, dtype)) send_statistics_message(digest, dtype, statistics_of(dtype, bytes));
}

void Thread::send_statistics(const Digest& digest, Dtype dtype, const Statistics& found) {
  if (!was_sent(digest, dtype)) send_statistics_message(digest, dtype, found);
}

bool Thread::was_sent(const Digest& digest, Dtype dtype) {
  Digest& sent = sent_[(digest.low ^ static_cast<std::uint64_t>(dtype)) % sent_.size()];
  return std::exchange(sent, digest) == digest && digest != Digest{};
}

void Thread::send_resolved(std::uint64_t ticket, const Digest& digest, const Digest& logical,
                           bool failed, bool no_content) {
  ring::ResolvedMessage message{};
  message.header = {sizeof message, ring::MessageKind::resolved, 0};
  message.ticket = ticket;
  message.digest[0] = digest.high;
  message.digest[1] = digest.low;
  message.logical[0] = logical.high;
  message.logical[1] = logical.low;
  message.failed = failed ? 1 : 0;
  message.no_content = no_content ? 1 : 0;
  if (std::byte* memory = room(sizeof message)) {
    std::memcpy(memory, &message, sizeof message);
    ring_.commit(sizeof message);
  }
}

void Thread::send_statistics_message(const Digest& digest, Dtype dtype, const Statistics& found) {
  ring::StatisticsMessage message{};
  message.header = {sizeof message, ring::MessageKind::statistics, 0};
  message.digest[0] = digest.high;
  message.digest[1] = digest.low;
  message.min = found.min;
  message.max = found.max;
  message.mean = found.mean;
  message.l2 = found.l2;
  message.elements = found.elements;
  message.nan = found.nan;
  message.inf = found.inf;
  message.zero = found.zero;
  message.subnormal = found.subnormal;
  message.dtype = static_cast<std::uint8_t>(dtype);
  if (std::byte* memory = room(sizeof message)) {
    std::memcpy(memory, &message, sizeof message);
    ring_.commit(sizeof message);
  }
}

void Thread::send_environment(std::string_view key, std::string_view value) {
  ring::EnvironmentMessage message{};
  message.header = {ring::padded(sizeof message + value.size()), ring::MessageKind::environment, 0};
  message.epoch = current_epoch();
  message.key = string(name_id(key));
  message.length = static_cast<std::uint32_t>(value.size());
  if (std::byte* memory = room(message.header.size)) {
    std::memcpy(memory, &message, sizeof message);
    std::memcpy(memory + sizeof message, value.data(), value.size());
    ring_.commit(message.header.size);
  }
}

void Thread::send_creation() {
  CreationText room;
  const std::string_view creation = creation_of_thread(room);
  if (creation.empty()) return;
  std::array<char, 12 + room.size()> text{};
  char* at = std::to_chars(text.data(), text.data() + text.size(), lane_).ptr;
  *at++ = ' ';
  at = std::copy(creation.begin(), creation.end(), at);
  send_environment("capture.thread", {text.data(), static_cast<std::size_t>(at - text.data())});
}

void Thread::send_notice(std::string_view sentence, bool fatal) {
  ring::NoticeMessage message{};
  message.header = {ring::padded(sizeof message + sentence.size()), ring::MessageKind::notice, 0};
  message.fatal = fatal ? 1 : 0;
  message.length = static_cast<std::uint32_t>(sentence.size());
  if (std::byte* memory = room(message.header.size)) {
    std::memcpy(memory, &message, sizeof message);
    std::memcpy(memory + sizeof message, sentence.data(), sentence.size());
    ring_.commit(message.header.size);
  }
}

}  // namespace ulpscope::capture
