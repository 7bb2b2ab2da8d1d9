#include "tests/support/event_builder.hpp"

#include <array>
#include <span>
#include <utility>

#include "core/argument_writer.hpp"
#include "tests/support/run_builder.hpp"

namespace ulpscope::test {

EventBuilder::EventBuilder(RunBuilder& run, std::uint32_t lane, std::size_t index)
    : run_(run), lane_(lane), index_(index) {}

EventBuilder::~EventBuilder() { run_.run_->stored[lane_].open.pop_back(); }

detail::StoredEvent& EventBuilder::stored() const {
  return run_.run_->stored[lane_].events[index_];
}

std::uint64_t EventBuilder::position() const { return stored().event.position; }

void EventBuilder::add_slot(Role role, std::uint16_t index, std::uint16_t element,
                            const Tensor& tensor, std::uint32_t flags) {
  auto& storage = run_.storages_.at(tensor.storage);
  detail::StoredSlot entry;
  entry.geometry = tensor.geometry;
  entry.name = storage.name;
  Slot& slot = entry.slot;
  slot.role = role;
  slot.index = index;
  slot.element = element;
  slot.flags = flags | storage.flags;
  slot.storage = tensor.storage;
  slot.writes = storage.writes;
  slot.writer = storage.writer;
  slot.writer_lane = storage.writer_lane;
  const StridedBytes bytes{
      storage.bytes.data() + static_cast<std::size_t>(tensor.geometry.storage_offset) *
                                 element_size(tensor.geometry.dtype),
      element_size(tensor.geometry.dtype), entry.geometry.sizes, entry.geometry.strides};
  constexpr std::uint32_t kUnread = slot_flag::overwritten | slot_flag::metadata_only;
  if (flags & (slot_flag::view | kUnread)) {
    slot.flags |= slot_flag::no_digest;
  } else {
    slot.digest = digest_in_memory_order(bytes);
    if (entry.geometry.strides != detail::row_major(entry.geometry.sizes)) {
      slot.flags |= slot_flag::logical;
      slot.logical_digest = digest_in_logical_order(bytes);
    }
    if (run_.keep_content_) {
      std::vector<std::byte> packed(packed_size(bytes));
      pack_in_memory_order(bytes, packed);
      run_.run_->contents[slot.digest] = std::move(packed);
      slot.flags |= slot_flag::has_content;
    }
  }
  if (role == Role::input && !(slot.flags & kUnread)) {
    if (storage.uninitialised) slot.flags |= slot_flag::uninitialised;
    if (storage.writer == kNone) slot.flags |= slot_flag::unproduced;
    if (stored().event.depth == 0 && run_.verify_) slot.flags |= slot_flag::verified;
    if (storage.changed && run_.verify_) slot.flags |= slot_flag::changed;
    storage.changed = false;
  }
  stored().slots.push_back(std::move(entry));
}

EventBuilder& EventBuilder::in(const Tensor& tensor, std::string_view name, std::uint32_t flags) {
  add_slot(Role::input, arguments_++, 0, tensor, flags);
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

EventBuilder& EventBuilder::in_list(const std::vector<Tensor>& tensors, std::string_view name) {
  std::uint16_t element = 0;
  for (const Tensor& tensor : tensors) add_slot(Role::input, arguments_, element++, tensor, 0);
  ++arguments_;
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

EventBuilder& EventBuilder::in_none(std::string_view name) {
  detail::StoredSlot entry;
  entry.slot.index = arguments_++;
  entry.slot.flags = slot_flag::undefined | slot_flag::no_digest;
  stored().slots.push_back(entry);
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

EventBuilder& EventBuilder::given(const Tensor& tensor, std::uint32_t flag) {
  return in(tensor, "self", flag);
}

EventBuilder& EventBuilder::in_number(double number, Dtype dtype) {
  const Tensor tensor = run_.make(Values(std::vector<std::int64_t>{}, {number}).as(dtype), {},
                                  slot_flag::wrapped_number);
  return in(tensor, "other");
}

template <class Write>
void EventBuilder::store(Write write) {
  std::array<std::byte, 256> buffer{};
  ArgumentWriter writer(buffer);
  write(writer);
  const auto bytes = writer.bytes();
  stored().arguments.insert(stored().arguments.end(), bytes.begin(), bytes.end());
}

template <class Write>
EventBuilder& EventBuilder::add_argument(std::string_view name, Write write) {
  store([&](ArgumentWriter& w) { write(w, arguments_); });
  ++arguments_;
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

EventBuilder& EventBuilder::arg(std::string_view name, double value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.number(i, value); });
}
EventBuilder& EventBuilder::arg(std::string_view name, int value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.integer(i, value); });
}
EventBuilder& EventBuilder::arg(std::string_view name, bool value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.boolean(i, value); });
}
EventBuilder& EventBuilder::arg(std::string_view name, std::vector<std::int64_t> values) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.int_list(i, values); });
}
EventBuilder& EventBuilder::arg(std::string_view name, std::string_view value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.string(i, value); });
}
EventBuilder& EventBuilder::device_arg(std::string_view name, std::uint8_t type) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.device(i, type, -1); });
}

EventBuilder& EventBuilder::result(double value) {
  store([&](ArgumentWriter& w) { w.number(kArgumentResult, value); });
  return *this;
}

EventBuilder& EventBuilder::returns_object() {
  store([](ArgumentWriter& w) { w.opaque(kArgumentResult, "Object"); });
  return *this;
}

EventBuilder& EventBuilder::overload(std::string_view name) {
  stored().overload = name;
  return *this;
}

EventBuilder& EventBuilder::flag(std::uint32_t event_flags) {
  stored().event.flags |= event_flags;
  return *this;
}

EventBuilder& EventBuilder::draws(int count) {
  Event& event = stored().event;
  event.flags |= event_flag::seeded;
  event.rng.seed = run_.seed_;
  event.rng.before = run_.state(run_.drawn_);
  run_.drawn_ += static_cast<std::uint64_t>(count);
  event.rng.after = run_.state(run_.drawn_);
  return *this;
}

EventBuilder& EventBuilder::of_object(std::uint64_t number) {
  stored().event.object = number;
  return *this;
}

EventBuilder& EventBuilder::draws_from_own(int count, std::uint64_t which) {
  Event& event = stored().event;
  std::uint64_t& drawn = run_.drawn_from_own_[which];
  event.object = which;
  event.flags |= event_flag::seeded | event_flag::explicit_generator;
  event.rng.seed = run_.seed_;
  event.rng.before = run_.state(drawn);
  drawn += static_cast<std::uint64_t>(count);
  event.rng.after = run_.state(drawn);
  return *this;
}

EventBuilder& EventBuilder::stack(std::string calls) {
  stored().stack = std::move(calls);
  return *this;
}

EventBuilder& EventBuilder::calls(const std::function<void()>& body) {
  body();
  if (stored().event.flags & event_flag::seeded) stored().event.rng.after = run_.state(run_.drawn_);
  return *this;
}

EventBuilder& EventBuilder::writes(const Tensor& tensor, const Values& values, bool whole) {
  run_.store(tensor, values);
  auto& storage = run_.storages_.at(tensor.storage);
  ++storage.writes;
  storage.writer = position();
  storage.writer_lane = lane_;
  storage.changed = false;
  if (whole) storage.uninitialised = false;
  add_slot(Role::mutated, 0, 0, tensor, 0);
  return *this;
}

EventBuilder& EventBuilder::fills_part(const Tensor& tensor, const Values& values) {
  writes(tensor, values, /*whole=*/false);
  stored().slots.back().slot.flags |= slot_flag::uninitialised;
  return *this;
}

EventBuilder& EventBuilder::numbered(std::uint16_t first) {
  returns_ = first;
  return *this;
}

EventBuilder& EventBuilder::returns_view(const Tensor& view) {
  add_slot(Role::output, returns_++, 0, view, slot_flag::view);
  return *this;
}

EventBuilder& EventBuilder::returns(const Tensor& tensor, std::uint32_t flags) {
  add_slot(Role::output, returns_++, 0, tensor, flags);
  return *this;
}

Tensor EventBuilder::out(const Values& values, std::uint32_t flags) {
  const Tensor tensor = run_.make(values, {}, 0);
  auto& storage = run_.storages_.at(tensor.storage);
  storage.writes = 1;
  storage.writer = position();
  storage.writer_lane = lane_;
  add_slot(Role::output, returns_++, 0, tensor, flags);
  return tensor;
}

Tensor EventBuilder::out_strided(const Values& memory, std::vector<std::int64_t> sizes,
                                 std::vector<std::int64_t> strides) {
  Tensor tensor = run_.make(memory, {}, 0);
  tensor.geometry.sizes = std::move(sizes);
  tensor.geometry.strides = std::move(strides);
  tensor.geometry.flags = geometry_flag::dense;
  auto& storage = run_.storages_.at(tensor.storage);
  storage.writes = 1;
  storage.writer = position();
  storage.writer_lane = lane_;
  add_slot(Role::output, returns_++, 0, tensor, 0);
  return tensor;
}

Tensor EventBuilder::out_uninitialised(const Values& garbage) {
  const Tensor tensor = run_.make(garbage, {}, 0);
  run_.storages_.at(tensor.storage).uninitialised = true;
  flag(event_flag::factory);
  add_slot(Role::output, returns_++, 0, tensor, slot_flag::uninitialised);
  return tensor;
}

}  // namespace ulpscope::test
